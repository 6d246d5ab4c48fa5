import { toMicros } from '@priorbook/sdk/domain'
import type { Problem } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import { createGrant, type PlanGrant } from './grant.ts'
import { DEFAULT_PLANS } from './plans.ts'

function grantOf(name: string): PlanGrant {
  return createGrant(
    DEFAULT_PLANS.find((plan) => plan.name === name)!,
    DEFAULT_PLANS,
    undefined,
  )
}

function refusal(work: () => void): Problem | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return error as Problem
  }
}

describe('the default plans', () => {
  it('explorer includes B and C, btc, and the last seven days', () => {
    const grant = grantOf('explorer')
    const no = refusal(() => grant.requireVenue('venuea'))
    expect(no).toMatchObject({ code: 'plan_required', fields: { plan: 'quant' } })
    expect(refusal(() => grant.requireVenue('venueb'))).toBeUndefined()
    expect(refusal(() => grant.requireAsset('venuec', 'BTC'))).toBeUndefined()
    expect(refusal(() => grant.requireAsset('venuec', 'eth'))?.fields.plan).toBe('quant')
    expect(grant.allows('venueb', undefined)).toBe(false)
    expect(grant.allows('venuea', 'btc')).toBe(false)
    const week = 7 * 86_400_000_000
    expect(grant.windowStart(toMicros(week + 5))).toBe(5)
  })

  it('quant includes everything but the features of desk', () => {
    const grant = grantOf('quant')
    expect(refusal(() => grant.requireAsset('venuea', undefined))).toBeUndefined()
    expect(grant.windowStart(toMicros(1e15))).toBe(0)
    expect(refusal(() => grant.requireFeature('bulk_beyond_31_days'))?.fields.plan).toBe('desk')
    expect(refusal(() => grantOf('desk').requireFeature('bulk_beyond_31_days'))).toBeUndefined()
    expect(refusal(() => grant.requireFeature('audit'))).toBeUndefined()
  })
})
