import { PriorbookApiError, PriorbookClientError } from '@priorbook/sdk/client'
import { describe, expect, it } from 'vitest'
import { toTrouble } from './trouble.ts'

const problem = (code: string, status: number, more = {}) =>
  new PriorbookApiError({ code, status, title: 'A title.', detail: 'no market X', ...more })

describe('a failure', () => {
  it('is explained, with the hint of the server', () => {
    const trouble = toTrouble(problem('unknown_market', 404, { hint: 'Use the condition id' }))
    expect(trouble.text).toContain('No market X. Use the condition id.')
    expect(trouble).toMatchObject({ action: 'markets', isTemporary: false })
  })

  it('names the plan that is required', () => {
    expect(toTrouble(problem('plan_required', 403, { plan: 'quant' })).text).toContain('“quant”')
  })

  it.each(['expired_key', 'revoked_key', 'invalid_key', 'missing_key'])(
    'leads from %s to the key page',
    (code) => {
      expect(toTrouble(problem(code, 401))).toMatchObject({ action: 'key', isTemporary: false })
    },
  )

  it('is temporary where the server is away, busy or limits the rate', () => {
    expect(toTrouble(new PriorbookClientError('network_failed', 'x')).isTemporary).toBe(true)
    expect(toTrouble(new PriorbookClientError('timed_out', 'x')).isTemporary).toBe(true)
    expect(toTrouble(problem('store_unavailable', 503)).isTemporary).toBe(true)
    expect(toTrouble(problem('rate_limited', 429, { retryAfter: 2.2 })).text).toContain('3 s')
    expect(toTrouble(new Error('odd')).isTemporary).toBe(false)
  })
})
