import { VENUES, type CaptureDecision, type MarketRecord, type Micros } from '@priorbook/sdk/domain'
import { expect, it } from 'vitest'
import { heedSelection, tellSelection, toFollowed } from './told.ts'

const record = (marketId: string): MarketRecord => ({
  venue: 'venueb',
  marketId,
  outcomes: [],
  units: VENUES.venueb.units,
  native: {},
})
const REQUEST = { kind: 'events' }
const RECORDS = ['A', 'B', 'C', 'D'].map(record)
const normalized = {
  events: RECORDS.map((one) => ({
    kind: 'market' as const,
    record: one,
    received: 1 as Micros,
    journal: 1,
  })),
  problems: [],
}
const captureOf = (request: object): [id: string, tier: string | undefined][] =>
  heedSelection({ kind: 'events', ...request }, normalized).events.flatMap((event) =>
    event.kind === 'market' ? [[event.record.marketId, event.record.capture?.tier]] : [],
  )

it('a request names all decisions but those of the largest group', () => {
  const tiers: Record<string, CaptureDecision['tier']> = { A: 'full', B: 'full', C: 'none' }
  const told = tellSelection(REQUEST, RECORDS, ({ marketId }) => ({
    tier: tiers[marketId] ?? 'catalogue',
    why: 'w',
  }))!
  expect(told['captured']).toStrictEqual([
    { tier: 'full', why: 'w' },
    { tier: 'none', why: 'w', markets: ['C'] },
    { tier: 'catalogue', why: 'w', markets: ['D'] },
  ])
  // Read back from the journal, as JSON.
  expect(captureOf(JSON.parse(JSON.stringify(told)) as object)).toStrictEqual([
    ['A', 'full'],
    ['B', 'full'],
    ['D', 'catalogue'],
  ])
})

it('an answer without a market that is recorded is not kept, an empty one is', () => {
  const none = (): CaptureDecision => ({ tier: 'none', why: 'no rule' })
  expect(tellSelection(REQUEST, RECORDS, none)).toBeUndefined()
  expect(tellSelection(REQUEST, [], none)).toBe(REQUEST)
})

it('a request of an older journal, or a damaged one, selects all', () => {
  const all = RECORDS.map(({ marketId }) => [marketId, undefined])
  expect(captureOf({})).toStrictEqual(all)
  expect(captureOf({ captured: 'full' })).toStrictEqual(all)
  expect(captureOf({ captured: [{ tier: 'deep' }, 7, null] })).toStrictEqual(all)
})

it('a market that was recorded is followed to its end', () => {
  expect(toFollowed({ tier: 'none', why: 'no rule' }, true)?.tier).toBe('catalogue')
  expect(toFollowed({ tier: 'none', why: 'no rule' }, false)?.tier).toBe('none')
  expect(toFollowed({ tier: 'full', why: 'x' }, true)).toStrictEqual({ tier: 'full', why: 'x' })
})
