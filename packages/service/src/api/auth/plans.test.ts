import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DEFAULT_PLANS, openPlanBook, type PlanBook } from './plans.ts'

const TEAM = {
  rank: 2,
  venues: ['venueb'],
  assets: null,
  days: 31,
  per_second: 10,
  per_minute: null,
  features: ['audit'],
}

function open(said: unknown): PlanBook {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-plans-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'plans.json')
  writeFileSync(file, typeof said === 'string' ? said : JSON.stringify(said))
  return openPlanBook(file)
}

const withTeam = (more: object): object => ({ plans: { team: { ...TEAM, ...more } } })

describe('plans of an operator', () => {
  it('are added to the default ones, with the default limits of the stream', () => {
    const book = open(withTeam({}))
    expect(book.find('team')).toMatchObject({ ...TEAM, stream: { connections: 10, replays: 4 } })
    for (const { name } of DEFAULT_PLANS) expect(book.find(name)).toBeDefined()
  })

  it.each([
    ['no JSON', '{"plans"', /is not JSON/],
    ['no plans', {}, /plans/],
    ['a list of plans', { plans: [] }, /plans must be an object of plans by name/],
    ['a name in capitals', { plans: { Team: TEAM } }, /plans must have names/],
    ['a name of the language', '{"plans": {"__proto__": {}}}', /plans must have names/],
    ['another one', { plans: { constructor: TEAM } }, /plans must have names/],
    ['a rank that is text', withTeam({ rank: 'x' }), /plans\.team\.rank/],
    ['a part of a request', withTeam({ per_second: 0.5 }), /plans\.team\.per_second/],
    ['no requests at all', withTeam({ per_minute: 0 }), /plans\.team\.per_minute/],
    ['an unknown venue', withTeam({ venues: ['venuex'] }), /plans\.team\.venues\.0/],
    ['an unknown feature', withTeam({ features: ['gold'] }), /plans\.team\.features\.0/],
    ['an unknown member', withTeam({ price: 3 }), /plans\.team\.price/],
    ['half the terms of the stream', withTeam({ stream: { replays: 1 } }), /plans\.team\.stream\./],
  ])('are refused with their place: %s', (_what, said, place) => {
    expect(() => open(said)).toThrow(place)
  })
})
