import { toBackfillKey } from '@priorbook/sdk/domain'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openEmbeddedStore, type EmbeddedStore } from '../store/embedded/open.ts'
import { backfillFacts, tradesFamily } from '../store/store.ts'
import { Applier } from './applier.ts'
import { createDataFolder, createFeed, START_MS } from './scripted.testing.ts'

const TICKER = 'KXTEST-1'
const venue = 'venueb'
const MADE = { origin: 'emulator', recorder: 'r1' } as const

type Tape = {
  readonly store: EmbeddedStore
  readonly answer: (request: object, value: object) => Promise<void>
  readonly note: (note: object) => Promise<void>
}

function openTape(): Tape {
  const { tape } = createDataFolder()
  const store = openEmbeddedStore({ file: tape })
  onTestFinished(() => store.close())
  const applier = new Applier(store, venue)
  const put = createFeed(() => applier)
  const keep = async (): Promise<void> => {
    await store.append(applier.drain(MADE)!)
    applier.forgetEnded()
  }
  return {
    store,
    async answer(request, value) {
      await put('note', { note: 'request', request })
      await put('message', value)
      await keep()
    },
    async note(note) {
      await put('note', note)
      await keep()
    },
  }
}

const market = (status: string, more: object = {}): object => ({
  event: { event_ticker: 'KXTEST', series_ticker: 'KXS', title: 'A test' },
  markets: [{ ticker: TICKER, event_ticker: 'KXTEST', status, volume_fp: '5.00', ...more }],
})

const tradeOf = (id: string, ms: number): object => ({
  trade_id: id,
  ticker: TICKER,
  yes_price_dollars: '0.4150',
  no_price_dollars: '0.5850',
  count_fp: '3.25',
  taker_side: 'no',
  created_time: new Date(START_MS + ms).toISOString(),
})

describe('a record of the history', () => {
  it('names a market that was not known, in the tier of the catalogue', async () => {
    const { store, answer } = openTape()
    await answer(
      { kind: 'history_event', ticker: 'KXTEST' },
      market('finalized', { result: 'yes' }),
    )
    expect((await store.market(venue, TICKER))?.record).toMatchObject({
      status: 'resolved',
      winningOutcome: 'Yes',
      capture: { tier: 'catalogue', why: 'a backfill named it' },
    })
  })

  it('never turns back what was recorded, and adds what it did not know', async () => {
    const { store, answer } = openTape()
    const captured = [{ tier: 'full', why: 'a rule' }]
    await answer({ kind: 'event', ticker: 'KXTEST', captured }, market('determined'))
    await answer({ kind: 'history_event', ticker: 'KXTEST' }, market('active'))
    const kept = (await store.market(venue, TICKER))!
    expect(kept.record).toMatchObject({ status: 'determined', capture: { tier: 'full' } })
    expect(kept.record).not.toHaveProperty('lastAnomaly')
    await answer({ kind: 'history_event', ticker: 'KXTEST' }, market('finalized', { result: 'no' }))
    const final = (await store.market(venue, TICKER))!
    expect(final.record).toMatchObject({
      status: 'resolved',
      winningOutcome: 'No',
      capture: { tier: 'full', why: 'a rule' },
    })
    await answer({ kind: 'history_markets' }, { markets: [{ ticker: TICKER, status: 'closed' }] })
    expect(await store.market(venue, TICKER)).toEqual(final)
  })
})

describe('trades of the history', () => {
  const request = (since: number, until: number): object => ({
    kind: 'history_trades',
    ticker: TICKER,
    since: (START_MS + since) * 1000,
    until: (START_MS + until) * 1000,
  })
  const stored = async (store: EmbeddedStore, key: string): Promise<string[]> =>
    (await store.trades({ venue, key, order: 'asc', limit: 100 })).rows.tradeId

  it('count for the span of their request, each once, and leave observed ones alone', async () => {
    const { store, answer } = openTape()
    await answer({ kind: 'event', ticker: 'KXTEST' }, market('active'))
    await answer({ kind: 'trades', ticker: TICKER }, { trades: [tradeOf('o', 5)], cursor: '' })
    const trades = [tradeOf('d', 3), tradeOf('c', 2), tradeOf('b', 1), tradeOf('a', 1)]
    const follower = await store.follow()
    onTestFinished(() => follower.close())
    await answer(request(1, 3), { trades })
    expect(await stored(store, toBackfillKey(TICKER))).toEqual(['b', 'a', 'c'])
    // Subscribers of the market are not offered them.
    expect((await follower.poll())?.trades ?? []).toEqual([])
    // The same answer again, and one of a span before the end, add nothing.
    await answer(request(1, 3), { trades })
    await answer(request(0, 2), { trades: [tradeOf('z', 0)] })
    await answer(request(2, 9), { trades: [tradeOf('e', 4), ...trades] })
    expect(await stored(store, toBackfillKey(TICKER))).toEqual(['b', 'a', 'c', 'd', 'e'])
    expect(await stored(store, TICKER)).toEqual(['o'])
  })

  it('without a time, or of another market, are quarantined; what is missing is a gap', async () => {
    const { store, answer, note } = openTape()
    await answer({ kind: 'event', ticker: 'KXTEST' }, market('active'))
    const nameless = { ...tradeOf('x', 1), created_time: '' }
    const foreign = { ...tradeOf('y', 1), ticker: 'KXOTHER-1' }
    await answer(request(0, 9), { trades: [nameless, foreign, tradeOf('a', 1)] })
    expect(await stored(store, toBackfillKey(TICKER))).toEqual(['a'])
    expect(await store.quarantine({ limit: 10 })).toHaveLength(2)
    const [start, end] = [START_MS * 1000, START_MS * 1000 + 500]
    await note({ note: 'history_gap', market: TICKER, start, end, why: 'refused' })
    const gaps = await store.gaps({ venue, key: toBackfillKey(TICKER) })
    expect(gaps).toMatchObject([{ start, end, reason: 'unavailable', detail: 'refused' }])
    await note({ note: 'backfill', family: tradesFamily(TICKER), from: start, reached: end })
    expect(await store.fact(backfillFacts(venue, tradesFamily(TICKER)).reached)).toBe(end)
    // Sums of books do not know of it.
    expect(
      (await store.days(venue, 0, Number.MAX_SAFE_INTEGER)).flatMap(({ gaps: g }) => g),
    ).toEqual([])
  })
})
