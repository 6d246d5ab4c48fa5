import type { Gap, GapReason, Micros } from '@priorbook/sdk/domain'
import { ABSENT, type Observation } from '@priorbook/sdk/tape'
import { expect, it } from 'vitest'
import type { BookTop, Store } from '../store.ts'
import { createTapeFolder } from './tape-folder.testing.ts'

const BEGIN = 1_790_000_000_000_000
const BOOKS = ['cents', 'fine', 'bids', 'empty']
const MADE = { venue: 'venuec', origin: 'live', recorder: 'r1', normalizer: 1 } as const

// Keys of levels are twice the price in ticks, plus 1 for an ask.
const bid = (ticks: number): number => ticks * 2
const ask = (ticks: number): number => ticks * 2 + 1

function row(key: string, journal: number, levels: readonly [number, number][]): Observation {
  return {
    instrument: { venue: 'venuec', market: 'm', key },
    received: BEGIN + journal,
    source: ABSENT,
    venueSeq: ABSENT,
    channel: ABSENT,
    journal,
    flags: 0,
    priceDecimals: key === 'fine' ? 4 : 2,
    keys: levels.map(([level]) => level),
    sizes: levels.map(([, size]) => size),
  }
}

async function topsOf(store: Store): Promise<(BookTop | undefined)[]> {
  const quotes = await store.quotes(BOOKS.map((key) => ({ venue: 'venuec', key, since: 0 })))
  return quotes.map(({ top }) => top)
}

it('gives the best prices of the newest row, from the log and from chunks', async () => {
  const folder = createTapeFolder()
  const store = folder.open()
  const reader = folder.open({ readOnly: true })
  const write = (position: number, observations: readonly Observation[]): Promise<void> =>
    store.append({ ...MADE, position, observations })
  const expectTops = async (tops: readonly (BookTop | undefined)[]): Promise<void> => {
    // Twice each, because the second answer may come from memory.
    for (const one of [store, store, reader, reader]) expect(await topsOf(one)).toEqual(tops)
  }
  await write(1, [
    row('cents', 1, [
      [bid(40), 5],
      [ask(60), 5],
    ]),
    row('fine', 1, [
      [bid(4001), 5],
      [ask(4002), 5],
    ]),
    row('bids', 1, [[bid(10), 5]]),
  ])
  const first = [
    { decimals: 2, bid: 40, ask: 60 },
    { decimals: 4, bid: 4001, ask: 4002 },
    { decimals: 2, bid: 10, ask: undefined },
    undefined,
  ]
  await expectTops(first)
  await store.seal()
  await expectTops(first)
  await write(2, [row('cents', 2, [[bid(40), 0]]), row('bids', 2, [[ask(11), 5]])])
  const second = [
    { decimals: 2, bid: undefined, ask: 60 },
    first[1],
    { decimals: 2, bid: 10, ask: 11 },
    undefined,
  ]
  await expectTops(second)
  await store.seal()
  await expectTops(second)
})

it('counts what was lost, not the time in which a market was not open', async () => {
  const store = createTapeFolder().open()
  const observations = ['over', 'lost', 'early'].map((key) => row(key, 1, [[bid(40), 5]]))
  const gap = (key: string, reason: GapReason, end?: number): Gap => ({
    venue: 'venuec',
    scope: 'instrument',
    key,
    reason,
    start: (BEGIN + 2) as Micros,
    afterSequence: 1,
    journal: 1,
    ...(end === undefined ? {} : { end: (BEGIN + end) as Micros, endJournal: 1 }),
  })
  const gaps = [
    gap('over', 'market_closed'),
    gap('lost', 'disconnected'),
    gap('lost', 'quota', 4),
    gap('early', 'market_not_open', 5),
    gap('early', 'market_closed', 6),
  ]
  await store.append({ ...MADE, position: 1, observations, gaps })
  const keys = ['over', 'lost', 'early']
  const quotes = await store.quotes(keys.map((key) => ({ venue: 'venuec', key, since: 0 })))
  expect(quotes.map((quote) => quote.gaps)).toEqual([0, 2, 0])
})
