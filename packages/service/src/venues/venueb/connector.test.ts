import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.testing.ts'
import type { Connector } from '../capture/contract.ts'
import { turnUntil } from '../capture/turn.testing.ts'
import { TestLog, TestSink } from './capture.testing.ts'
import { VenueBConnector, type VenueBOptions } from './connector.ts'
import { KEYS, SERIES_FEES, TestVenue } from './upstream.testing.ts'

const A = 'KXTEST15M-26SEP211200-00'
const B = 'KXTEST15M-26SEP211200-15'
const SIGNED = { keyId: 'key-1', privateKey: KEYS.privateKey }

let clock: ManualClock
let venue: TestVenue
let sink: TestSink
let log: TestLog
let connector: Connector
let stop: () => Promise<void>

beforeEach(async () => {
  clock = new ManualClock()
  venue = new TestVenue(clock)
  sink = new TestSink(clock)
  log = new TestLog()
  stop = () => Promise.resolve()
  await venue.open()
})

afterEach(async () => {
  await stop()
  await venue.close()
  expect(sink.faults).toStrictEqual([])
})

function selected(full = 100): VenueBOptions['selection'] {
  const rules = [{ series: ['KXTEST15M'], tier: 'full' as const }]
  return { rules, pinned: [], bounds: { full, polled: 100 }, booksPerMarket: 1 }
}

function start(
  options: Partial<VenueBOptions> = {},
  unresolved: { marketId: string; native: object }[] = [],
): void {
  connector = new VenueBConnector(
    {
      restBase: venue.restBase,
      wsUrl: venue.wsUrl,
      selection: selected(),
      quota: { tokensPerSecond: 1000, costPerRequest: 10 },
      speed: 20,
      ...options,
    },
    { sink, log, clock, unresolved: unresolved as never },
  )
  const controller = new AbortController()
  const running = connector.run(controller.signal)
  stop = async () => {
    controller.abort()
    await running
    expect(connector.status().state).toBe('stopped')
  }
}

const until = (name: string, isSo: () => boolean) => turnUntil(clock, name, isSo)
const same = (ticker: string): boolean => sink.equals(venue.markets.get(ticker)!)

describe('with credentials', () => {
  it('records books, trades and lifecycles of the markets of its series by socket', async () => {
    venue.list(A)
    venue.list('OTHER-1-1')
    start(SIGNED)
    await until('a book', () => same(A))
    await until('a trade subscription', () => venue.subscribed('trade').includes(A))
    await until('lifecycle', () => venue.subscriptions('market_lifecycle_v2') === 1)
    venue.change(A, 'yes', 4100, 250)
    venue.change(A, 'no', 5500, -700)
    const trade = venue.trade(A)
    venue.life({ market_ticker: 'OTHER-1-1', event_type: 'deactivated' })
    venue.life({ market_ticker: A, event_type: 'metadata_updated', yes_sub_title: 'x' })
    await until('changes', () => same(A))
    await until('a trade', () => sink.trades.has(trade))
    await until('a life', () => sink.frames('market_lifecycle_v2').length === 1)
    expect(venue.subscribed('orderbook_delta')).toStrictEqual([A])
    expect(venue.asked(/orderbook$/)).toHaveLength(0)
    expect(venue.badSignatures).toBe(0)
    expect(venue.commands.map(({ cmd, params }) => ({ cmd, params }))).toContainEqual({
      cmd: 'subscribe',
      params: { channels: ['orderbook_delta'], market_tickers: [A], use_yes_price: false },
    })
    expect(connector.status()).toMatchObject({
      state: 'recording',
      markets: 1,
      sockets: [{ slot: 1, connected: true, subscriptions: 3 }],
      quota: { limit: 1000, windowMs: 1000, refused: 0 },
    })
    expect(sink.losses).toStrictEqual([])
    expect(JSON.stringify([sink.captured, log.lines])).not.toContain('PRIVATE')
  })

  it('notes a lost message before the frame that shows it, and recovers by snapshots', async () => {
    venue.list(A)
    venue.list(B)
    start(SIGNED)
    await until('books', () => same(A) && same(B))
    venue.drops.orderbook_delta = 1
    venue.change(A, 'yes', 4100, 250)
    venue.change(B, 'yes', 4200, 300)
    await until('books again', () => sink.losses.length === 1 && same(A) && same(B))
    const [loss] = sink.losses
    const frame = sink.frames('orderbook_delta')[0]!
    expect(loss).toMatchObject({ reason: 'sequence_break', slot: 1, sid: frame['sid'] })
    const places = sink.captured.map((one) =>
      one.kind === 'note' ? one.note : one.kind === 'frame' ? one.value : undefined,
    )
    expect(places.indexOf(frame)).toBe(places.indexOf(loss) + 1)
    const asked = venue.commands.filter(({ params }) => params['action'] === 'get_snapshot')
    expect(asked[0]!.params['market_tickers']).toStrictEqual([A, B])
    expect(sink.notes.filter(({ note }) => note === 'connected')).toHaveLength(1)
  })

  it('requests a book again that the recorder refused', async () => {
    venue.list(A)
    start(SIGNED)
    sink.onRejected = (keys) => {
      const instruments = keys.map((key) => ({ venue: 'venueb', market: key, key }) as const)
      connector.recover(instruments, 'rejected')
    }
    await until('a book', () => same(A))
    venue.spoils = 2
    venue.drops.orderbook_delta = 1
    venue.change(A, 'yes', 4100, 250)
    venue.change(A, 'yes', 4200, 300)
    await until('a book again', () => venue.spoils === 0 && same(A))
    expect(sink.notes.filter(({ note }) => note === 'connected')).toHaveLength(1)
  })

  it('reconnects when no snapshot comes after a loss', async () => {
    venue.list(A)
    start(SIGNED)
    await until('a book', () => same(A))
    venue.answersSnapshots = false
    venue.drops.orderbook_delta = 1
    venue.change(A, 'yes', 4100, 250)
    venue.change(A, 'yes', 4200, 300)
    await until('a book again', () => sink.losses.length === 2 && same(A))
    expect(sink.losses.map(({ reason, sid }) => [reason, sid === undefined])).toStrictEqual([
      ['sequence_break', false],
      ['sequence_break', true],
    ])
    expect(sink.notes.filter(({ note }) => note === 'connected')).toHaveLength(2)
    const asked = venue.commands.filter(({ params }) => params['action'] === 'get_snapshot')
    expect(asked.length).toBeGreaterThan(1)
  })

  it('notes lost trades for their own subscription and requests them by REST', async () => {
    venue.list(A)
    start(SIGNED)
    await until('subscriptions', () => same(A) && venue.subscribed('trade').includes(A))
    venue.trade(A)
    await until('a trade', () => sink.trades.size === 1)
    venue.drops.trade = 1
    venue.trade(A)
    venue.trade(A)
    await until('all trades', () => sink.trades.size === 3)
    const sid = sink.frames('trade')[0]!['sid']
    expect(sink.losses).toMatchObject([{ reason: 'sequence_break', slot: 1, sid }])
    expect(same(A)).toBe(true)
    expect(venue.commands.some(({ params }) => params['action'] === 'get_snapshot')).toBe(false)
  })

  it.each([10, 25])('subscribes again after error %i', async (code) => {
    venue.list(A)
    start(SIGNED)
    await until('subscriptions', () => same(A) && venue.subscribed('trade').includes(A))
    const before = sink.frames('orderbook_snapshot')[0]!['sid']
    venue.end('orderbook_delta', code)
    venue.end('trade', code)
    venue.change(A, 'yes', 4100, 250)
    const trade = venue.trade(A)
    await until('a book again', () => sink.losses.length === 2 && same(A))
    await until('the trade between', () => sink.trades.has(trade))
    expect(sink.losses[0]).toMatchObject({ reason: 'sequence_break', slot: 1, sid: before })
    expect(sink.frames('orderbook_snapshot').at(-1)!['sid']).not.toBe(before)
    expect(sink.notes.filter(({ note }) => note === 'connected')).toHaveLength(1)
    venue.change(A, 'yes', 4100, -250)
    await until('changes', () => same(A))
  })

  it('reconnects with a new signature and requests the trades between', async () => {
    venue.list(A)
    start(SIGNED)
    await until('subscriptions', () => same(A) && venue.subscribed('trade').includes(A))
    venue.closeSockets()
    await until('a lost socket', () => sink.losses.length === 1)
    venue.change(A, 'yes', 4100, 250)
    const trade = venue.trade(A)
    await until('a book again', () => same(A) && venue.sessions === 1)
    await until('the trade between', () => sink.trades.has(trade))
    expect(sink.losses).toMatchObject([{ reason: 'disconnected', slot: 1 }])
    expect(venue.badSignatures).toBe(0)
    venue.change(A, 'yes', 4100, -250)
    await until('changes', () => same(A))
  })

  it('learns how many markets a subscription may have', async () => {
    venue.marketLimit = 3
    const tickers = Array.from({ length: 10 }, (_, index) => `KXTEST15M-26SEP211200-${index}`)
    for (const ticker of tickers) venue.list(ticker)
    start(SIGNED)
    await until('all books', () => tickers.every(same))
    await until('all trades', () => venue.subscribed('trade').length === 10)
    expect(venue.subscribed('orderbook_delta')).toStrictEqual(tickers)
    expect(venue.subscriptions('orderbook_delta')).toBeGreaterThanOrEqual(4)
    for (const ticker of tickers) venue.change(ticker, 'yes', 4100, 250)
    await until('changes', () => tickers.every(same))
    expect(sink.losses).toStrictEqual([])
  })

  it('adds markets that are listed and deletes those that are over', async () => {
    venue.list(A)
    start(SIGNED)
    await until('a book', () => same(A))
    venue.list(B, {
      status: 'initialized',
      open_time: venue.time(2000),
    })
    venue.life({ market_ticker: B, event_type: 'created' })
    await until('two books', () => same(A) && same(B))
    const a = venue.markets.get(A)!
    a.fields = { ...a.fields, status: 'closed', close_time: venue.time() }
    await until('one subscription', () => venue.subscribed('orderbook_delta').join() === B)
    await until('one trade subscription', () => venue.subscribed('trade').join() === B)
    expect(venue.subscriptions('orderbook_delta')).toBe(1)
    a.fields = {
      ...a.fields,
      status: 'active',
      close_time: venue.time(60_000),
    }
    await until('a reopened market', () => venue.subscribed('orderbook_delta').length === 2)
    a.fields = {
      ...a.fields,
      status: 'finalized',
      result: 'yes',
      close_time: venue.time(),
    }
    venue.life({ market_ticker: A, event_type: 'settled', settled_ts: 1_790_000_000 })
    await until('an end', () => connector.status().markets === 1)
  })

  it('requests a market by name that was over before it was listed', async () => {
    venue.list(A)
    start(SIGNED)
    await until('a book', () => same(A))
    venue.list(B, { status: 'finalized', result: 'no', title: 'B', close_time: venue.time(-1000) })
    venue.life({ market_ticker: B, event_type: 'settled', settled_ts: 1_790_000_000 })
    const asked = { kind: 'markets', tickers: [B], series: 'KXTEST15M' }
    const isAsked = (): boolean =>
      sink.captured.some(
        (one) => one.kind === 'answer' && JSON.stringify(one.request) === JSON.stringify(asked),
      )
    await until('its record', isAsked)
    expect(connector.status().markets).toBe(1)
  })

  it('forgets a market that the venue names and does not know', async () => {
    venue.list(A)
    start(SIGNED)
    await until('a book', () => same(A))
    venue.life({ market_ticker: B, event_type: 'settled', settled_ts: 1_790_000_000 })
    await until('it is followed', () => connector.status().markets === 2)
    await until('it is forgotten', () => connector.status().markets === 1)
    expect(venue.asked(new RegExp(`/markets/${B}$`)).length).toBeGreaterThan(0)
  })

  it('requests books that the recorder closed, ever more slowly while that repeats', async () => {
    venue.list(A)
    start(SIGNED)
    await until('a book', () => same(A))
    const instrument = { venue: 'venueb', market: A, key: A } as const
    const snapshots = (): number => sink.frames('orderbook_snapshot').length
    const before = snapshots()
    for (let count = 0; count < 50; count++) connector.recover([instrument], 'rejected')
    await until('a snapshot', () => snapshots() === before + 1)
    const started = clock.monotonicMs()
    for (let count = 0; count < 20; count++) {
      connector.recover([instrument], 'rejected')
      await clock.advance(20)
    }
    // The first pause is 500 ms; twenty calls do not make twenty snapshots.
    const pauses = Math.floor((clock.monotonicMs() - started) / 500)
    expect(snapshots()).toBeLessThanOrEqual(before + 2 + pauses)
    expect(sink.losses).toStrictEqual([])
  })

  it('polls markets beyond the limit of the socket, and never a market that is on it', async () => {
    venue.list(A, { close_time: venue.time(100_000) })
    venue.list(B)
    start({ ...SIGNED, selection: selected(1) })
    await until('both books', () => same(A) && same(B))
    const trade = venue.trade(B)
    venue.change(B, 'yes', 4100, 250)
    await until('both books', () => same(A) && same(B) && sink.trades.has(trade))
    expect(venue.subscribed('orderbook_delta')).toStrictEqual([A])
    const asked = new Set(venue.asked(/orderbook$/).map(({ path }) => path))
    expect([...asked]).toStrictEqual([`/markets/${B}/orderbook`])
  })

  it.each(['a jump', 'an end', 'a silence'])(
    'names a market that was polled and whose first book was lost, at %s',
    async (how) => {
      venue.list(A, { close_time: venue.time(100_000) })
      venue.list(B)
      start({ ...SIGNED, selection: selected(1) })
      await until('both books', () => same(A) && same(B))
      venue.drops.orderbook_snapshot = how === 'a silence' ? 5 : 1
      const a = venue.markets.get(A)!
      a.fields = { ...a.fields, status: 'closed', close_time: venue.time() }
      await until('B on the socket', () => venue.subscribed('orderbook_delta').includes(B))
      if (how === 'a jump') venue.change(B, 'yes', 4100, 250)
      await clock.advance(50)
      if (how === 'an end') venue.closeSockets()
      const lost = () => sink.losses.filter(({ keys = [] }) => keys.includes(B))
      await until('a loss', () => lost().length > 0)
      const reason = { 'a jump': 'sequence_break', 'an end': 'disconnected' }[how] ?? 'venue_silent'
      expect(lost()[0]).toMatchObject({ reason, keys: [B] })
      await until('a book again', () => same(B))
    },
  )

  it.each([
    [
      'opens later than was known',
      { open_time: 3_600_000, close_time: 7_200_000 },
      'market_not_open',
    ],
    ['closed earlier than was known', { close_time: -60_000 }, 'market_closed'],
  ])('closes the book of a market that %s', async (_name, times, reason) => {
    const a = venue.list(A)
    venue.list(B)
    start(SIGNED)
    await until('books', () => same(A) && same(B))
    const moved = Object.entries(times).map(([name, ms]) => [name, venue.time(ms)])
    a.fields = { ...a.fields, ...Object.fromEntries(moved) }
    await until('no subscription', () => !venue.subscribed('orderbook_delta').includes(A))
    await until('a loss', () => sink.losses.length > 0)
    expect(sink.losses).toMatchObject([{ reason, keys: [A] }])
    expect(sink.book(A)!.isOpen).toBe(false)
    expect(sink.book(B)!.isOpen).toBe(true)
  })

  it('finds a socket that fell silent, though it stays open', async () => {
    venue.list(A)
    start(SIGNED)
    await until('a book', () => same(A))
    venue.answersSnapshots = false
    await until('silence', () => sink.losses.length === 1)
    expect(sink.losses).toMatchObject([{ reason: 'venue_silent', slot: 1 }])
    venue.answersSnapshots = true
    await until('a book again', () => same(A))
  })
})

describe('without valid credentials', () => {
  it('polls books and trades and reports no credentials', async () => {
    venue.list(A)
    start()
    await until('a book', () => same(A))
    const trade = venue.trade(A)
    venue.change(A, 'yes', 4100, 250)
    await until('a change', () => same(A) && sink.trades.has(trade))
    expect(venue.sessions).toBe(0)
    await until('listing', () => connector.status().state !== 'starting')
    expect(connector.status()).toMatchObject({ state: 'no_credentials', sockets: [] })
    expect(log.lines.filter(({ message }) => message.includes('credentials'))).toHaveLength(1)
  })

  it.each([
    ['a wrong key', { keyId: 'key-2', privateKey: KEYS.privateKey }],
    ['no PEM', { keyId: 'key-1', privateKey: 'nonsense' }],
  ])('polls with %s and logs one line', async (_name, wrong) => {
    venue.list(A)
    start(wrong)
    await until('a book', () => same(A))
    await until('a state', () => connector.status().state === 'no_credentials')
    await clock.advance(300)
    expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(1)
    expect(connector.status().detail).toContain('refused')
    venue.change(A, 'yes', 4100, 250)
    await until('a change', () => same(A))
  })

  it('never exceeds the quota in any second', async () => {
    for (let index = 0; index < 40; index++) venue.list(`KXTEST15M-26SEP211200-${index}`)
    start({ quota: { tokensPerSecond: 200, costPerRequest: 10 } })
    await until('every book', () => sink.books.size === 40)
    expect(venue.most(1000)).toBeLessThanOrEqual(20)
    expect(connector.status().quota).toMatchObject({ limit: 200, refused: 0 })
  })

  it('polls a book that the recorder closed before others', async () => {
    const tickers = Array.from({ length: 60 }, (_, index) => `KXTEST15M-26SEP211200-${index}`)
    for (const ticker of tickers) venue.list(ticker)
    start({ speed: 1, quota: { tokensPerSecond: 400, costPerRequest: 10 } })
    const polls = (): string[] => venue.asked(/orderbook$/).map(({ path }) => path.split('/')[2]!)
    await until('all books', () => polls().length >= 70)
    // Polled thirty polls ago: its next poll is far away, and it is not due yet.
    const count = polls().length
    const key = polls()[count - 30]!
    connector.recover([{ venue: 'venueb', market: key, key }], 'rejected')
    await until('some polls', () => polls().length >= count + 5)
    expect(polls().slice(count, count + 5)).toContain(key)
  })

  it.each([
    [429, 'quota'],
    [500, 'disconnected'],
    ['hang', 'venue_silent'],
  ] as const)('notes an outage (%s) once', async (fault, reason) => {
    venue.list(A)
    start()
    await until('books', () => venue.asked(/orderbook$/).length > 5 && same(A))
    venue.fault = fault
    await until('an outage', () => sink.losses.length === 1)
    await clock.advance(200)
    expect(sink.losses).toMatchObject([{ reason, keys: [A] }])
    venue.fault = undefined
    // A hanging request stays in flight until it times out, which this test does not cover.
    if (fault === 'hang') return
    venue.change(A, 'yes', 4100, 250)
    await until('a book again', () => same(A))
    expect(sink.losses).toHaveLength(1)
  })

  it.each(['repeatsCursor', 'neverEnds'] as const)('stops reading pages: %s', async (fault) => {
    venue.list(A)
    venue[fault] = true
    start()
    await until('a book', () => same(A))
    await until('a stop', () => log.lines.some(({ message }) => message.includes('reading stops')))
    const pages = venue.asked(/^\/markets$/).filter(({ query }) => query.get('status') === 'open')
    expect(pages.length).toBeLessThan(120)
    expect(pages[0]!.query.get('mve_filter')).toBe('exclude')
  })

  it('follows a market to its end, through dispute and amendment', async () => {
    const market = venue.list(A)
    start()
    await until('a book', () => same(A))
    const statuses = ['closed', 'determined', 'disputed', 'amended']
    market.fields = { ...market.fields, close_time: venue.time() }
    for (const status of statuses) {
      market.fields = { ...market.fields, status }
      const asked = (): number => venue.requests.filter(({ query }) => query.has('tickers')).length
      const before = asked()
      await until(status, () => asked() > before + 1)
    }
    expect(connector.status().markets).toBe(1)
    market.fields = { ...market.fields, status: 'finalized', result: 'no' }
    await until('an end', () => connector.status().markets === 0)
  })

  it('follows markets of an earlier run', async () => {
    const gone = 'KXOLD-1-1'
    venue.list(gone, { status: 'determined' })
    start({}, [{ marketId: gone, native: { event: { series_ticker: 'KXOLD' } } }])
    await until('a look', () => venue.requests.some(({ query }) => query.get('tickers') === gone))
    venue.markets.get(gone)!.fields['status'] = 'finalized'
    await until('an end', () => connector.status().markets === 0)
    const answers = sink.captured.flatMap((one) => (one.kind === 'answer' ? [one.request] : []))
    expect(answers).toContainEqual({ kind: 'markets', tickers: [gone], series: 'KXOLD' })
  })

  it('repeats the fees of a series in its requests for markets and events', async () => {
    venue.list(A)
    start({ speed: 60 })
    const asked = (kind: string): object[] =>
      sink.captured.flatMap((one) =>
        one.kind === 'answer' && one.request.kind === kind ? [one.request] : [],
      )
    const isTold = (kind: string): boolean => asked(kind).some((request) => 'facts' in request)
    await until('listings with fees', () => isTold('markets') && isTold('events'))
    for (const kind of ['markets', 'events']) {
      expect(asked(kind).at(-1)).toMatchObject({
        kind,
        series: 'KXTEST15M',
        facts: { KXTEST15M: SERIES_FEES },
      })
    }
    expect(asked('series')[0]).toStrictEqual({ kind: 'series', series: 'KXTEST15M' })
  })

  it('reports that it is degraded when nothing can be listed', async () => {
    venue.fault = 500
    start()
    await until('a state', () => connector.status().state === 'degraded')
    expect(connector.status().detail).toBe('markets cannot be listed')
    venue.fault = undefined
    venue.list(A)
    await until('a book', () => same(A))
  })
})
