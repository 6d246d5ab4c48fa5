import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Emulator } from '@priorbook/emulator'
import type { Caller } from './caller.ts'
import { fromBidsOnly, lastAnswered, lastPayloads, toUnits, type Side } from './truth-books.ts'

/** A client of Kalshi over an emulator; both exist once tests run. */
export type KalshiParts = { readonly caller: () => Caller; readonly emulator: () => Emulator }

type Market = {
  readonly ticker: string
  readonly event_ticker: string
  readonly volume_fp: string
}
type Event = { readonly event_ticker: string; readonly series_ticker: string }
type EventWithMarkets = Event & { readonly markets: readonly Market[] }
type OrderBook = { readonly yes_dollars: Side; readonly no_dollars: Side }
type Trade = {
  readonly trade_id: string
  readonly ticker: string
  readonly yes_price_dollars: string
  readonly no_price_dollars: string
  readonly count_fp: string
  readonly taker_outcome_side: string
}
type Candle = {
  readonly end_period_ts: number
  readonly volume_fp: string
  readonly price: Readonly<Record<string, string | null>>
}

/** Fields that recorded answers have and that the models of the client do not know. */
const UNMODELLED: ReadonlySet<string> = new Set(['liquidity_dollars', 'available_on_brokers'])

/** The venue's quota allows 80 calls a second at the speed of the test; a fast machine would make more. */
const PACE_MS = 20

/** What every official client of Kalshi reads from the emulator. */
export function describeKalshi({ caller, emulator }: KalshiParts): void {
  /** The answer as the client parsed it, which must contain what was sent and nothing else. */
  async function call<T>(method: string, args: Readonly<Record<string, unknown>> = {}): Promise<T> {
    await pause(PACE_MS)
    const answer = await caller().call<{ parsed: unknown; sent: unknown }>(method, args)
    expect(differences(answer.parsed, answer.sent, method)).toEqual([])
    return answer.parsed as T
  }

  const restOf = (): string => emulator().addresses.venueb!.rest
  async function read<T>(path: string): Promise<T> {
    await pause(PACE_MS)
    const answer = await fetch(`${restOf()}${path}`)
    expect(answer.status).toBe(200)
    return (await answer.json()) as T
  }
  async function readOpen(): Promise<Market[]> {
    const query = 'status=open&mve_filter=exclude&limit=1000'
    return (await read<{ markets: Market[] }>(`/markets?${query}`)).markets
  }

  it('pages through all open markets, each once', async () => {
    const before = (await readOpen()).map(({ ticker }) => ticker)
    const found: string[] = []
    let pages = 0
    for (let cursor = ''; pages === 0 || cursor !== ''; pages++) {
      const page = await call<{ markets: Market[]; cursor: string }>('MarketApi.getMarkets', {
        limit: 100,
        status: 'open',
        mveFilter: 'exclude',
        ...(cursor === '' ? {} : { cursor }),
      })
      found.push(...page.markets.map(({ ticker }) => ticker))
      cursor = page.cursor
    }
    const after = new Set((await readOpen()).map(({ ticker }) => ticker))
    expect(pages).toBeGreaterThan(2)
    // Markets come and go meanwhile. Positions count from the end of the list, so each one that goes shows another twice.
    const gone = before.filter((ticker) => !after.has(ticker)).length
    expect(found.length - new Set(found).size).toBeLessThanOrEqual(gone)
    expect(found.filter((ticker) => !before.includes(ticker) && !after.has(ticker))).toEqual([])
    const lasting = before.filter((ticker) => after.has(ticker))
    expect(lasting.length).toBeGreaterThan(250)
    expect(lasting.filter((ticker) => !found.includes(ticker))).toEqual([])
  })

  it('reads one market, its event with and without markets, and its series', async () => {
    const [{ ticker, event_ticker: eventTicker }] = (await readOpen()) as [Market]
    const { market } = await call<{ market: Market }>('MarketApi.getMarket', { ticker })
    expect(market).toMatchObject({ ticker, event_ticker: eventTicker })
    type Answer = { event: EventWithMarkets; markets: readonly Market[] }
    const flat = await call<Answer>('EventsApi.getEvent', { eventTicker })
    expect(flat.markets.map((one) => one.ticker)).toContain(ticker)
    const nested = { eventTicker, withNestedMarkets: true }
    const { event } = await call<Answer>('EventsApi.getEvent', nested)
    expect(event.markets.map((one) => one.ticker)).toEqual(flat.markets.map((one) => one.ticker))
    const details = await call<{ market_details: { market_ticker: string }[] }>(
      'EventsApi.getEventMetadata',
      { eventTicker },
    )
    expect(details.market_details.map((one) => one.market_ticker)).toContain(ticker)
    const { series_ticker: seriesTicker } = event
    const { series } = await call<{ series: object }>('MarketApi.getSeries', { seriesTicker })
    expect(series).toMatchObject({ ticker: seriesTicker })
    const all = await call<{ series: { ticker: string }[] }>('MarketApi.getSeriesList')
    expect(all.series.map((one) => one.ticker)).toContain(seriesTicker)
  })

  it('reads all events with their markets, and combinations apart', async () => {
    const { events: own } = await read<{ events: Event[] }>('/events?limit=200&status=open')
    const query = { limit: 200, status: 'open', withNestedMarkets: true }
    const { events } = await call<{ events: EventWithMarkets[] }>('EventsApi.getEvents', query)
    const tickers = new Set(events.map((event) => event.event_ticker))
    expect(tickers.size).toBeGreaterThan(20)
    const missing = own.filter((event) => !tickers.has(event.event_ticker))
    // One may have closed meanwhile.
    expect(missing.length).toBeLessThan(3)
    for (const { event_ticker: ticker, markets } of events) {
      expect(markets.length).toBeGreaterThan(0)
      expect(new Set(markets.map((market) => market.event_ticker))).toEqual(new Set([ticker]))
    }
    const combined = await call<{ events: EventWithMarkets[] }>('EventsApi.getMultivariateEvents', {
      limit: 100,
      withNestedMarkets: true,
    })
    const legs = combined.events.flatMap(({ markets }) => markets)
    expect(legs.length).toBeGreaterThan(10)
    for (const market of legs) expect(market).toHaveProperty('mve_selected_legs')
  })

  it('reads books that are those of the truth log', async () => {
    const markets = (await readOpen()).sort((a, b) => Number(b.volume_fp) - Number(a.volume_fp))
    const tickers = markets.slice(0, 8).map(({ ticker }) => ticker)
    for (const ticker of tickers.slice(0, 4)) {
      const { orderbook_fp: book } = await call<{ orderbook_fp: OrderBook }>(
        'MarketApi.getMarketOrderbook',
        { ticker },
      )
      expect(plain(book)).toEqual(lastAnswered(emulator(), ticker))
    }
    const best = await call<{ orderbook_fp: OrderBook }>('MarketApi.getMarketOrderbook', {
      ticker: tickers[0],
      depth: 1,
    })
    expect(best.orderbook_fp.yes_dollars.length).toBeLessThan(2)
    expect(plain(best.orderbook_fp)).toEqual(lastAnswered(emulator(), tickers[0]!))
    const { orderbooks } = await call<{
      orderbooks: { ticker: string; orderbook_fp: OrderBook }[]
    }>('MarketApi.getMarketOrderbooks', { tickers })
    expect(orderbooks.map(({ ticker }) => ticker)).toEqual(tickers)
    for (const { ticker, orderbook_fp: book } of orderbooks) {
      expect(plain(book)).toEqual(lastAnswered(emulator(), ticker))
    }
    const levels = orderbooks.map(({ orderbook_fp: book }) => book.yes_dollars.length)
    expect(Math.max(...levels)).toBeGreaterThan(2)
  })

  it('reads trades that are those of the truth log, in pages', async () => {
    type Page = { trades: Trade[]; cursor: string }
    const first = await call<Page>('MarketApi.getTrades', { limit: 20 })
    const payloads = lastPayloads(emulator(), '/trade-api/v2/markets/trades')
    const expected = payloads.map((payload) => {
      if (payload.kind !== 'trade') throw new Error(`a list of trades contains ${payload.kind}`)
      const { price, size, taker } = payload.fill
      return [payload.id, payload.key, price, size, taker === 'buy' ? 'yes' : 'no']
    })
    const read = first.trades.map((trade) => [
      trade.trade_id,
      trade.ticker,
      toUnits(trade.yes_price_dollars, 10_000),
      toUnits(trade.count_fp, 1_000_000),
      trade.taker_outcome_side,
    ])
    expect(read).toHaveLength(20)
    // The venue tells counts with two decimals.
    expect(read).toEqual(
      expected.map((row) => row.with(3, Math.round(Number(row[3]) / 10_000) * 10_000)),
    )
    for (const trade of first.trades) {
      expect(Number(trade.yes_price_dollars) + Number(trade.no_price_dollars)).toBeCloseTo(1, 8)
    }
    const query = { limit: 20, cursor: first.cursor }
    const second = await call<Page>('MarketApi.getTrades', query)
    expect(second.trades).toHaveLength(20)
  })

  it('reads candlesticks that follow from the trades', async () => {
    const { trades } = await call<{ trades: Trade[] }>('MarketApi.getTrades', { limit: 1000 })
    const tickers = [...new Set(trades.map(({ ticker }) => ticker))].reverse().slice(0, 5)
    const now = Math.floor(Date.now() / 1000)
    const range = { startTs: now - 7_200, endTs: now + 7_200, periodInterval: 60 }
    let steady = 0
    for (const ticker of tickers) {
      const of = { ticker, limit: 1000 }
      const before = await call<{ trades: Trade[] }>('MarketApi.getTrades', of)
      const { market } = await read<{ market: Market }>(`/markets/${ticker}`)
      const { event } = await read<{ event: Event }>(`/events/${market.event_ticker}`)
      const { candlesticks } = await call<{ candlesticks: Candle[] }>(
        'MarketApi.getMarketCandlesticks',
        { seriesTicker: event.series_ticker, ticker, ...range },
      )
      const many = await call<{ markets: { market_ticker: string; candlesticks: Candle[] }[] }>(
        'MarketApi.batchGetMarketCandlesticks',
        { marketTickers: ticker, ...range },
      )
      const after = await call<{ trades: Trade[] }>('MarketApi.getTrades', of)
      if (after.trades.length !== before.trades.length) continue
      steady++
      const sum = (values: readonly string[]): number =>
        values.reduce((total, value) => total + toUnits(value, 100), 0)
      expect(sum(candlesticks.map(({ volume_fp: volume }) => volume))).toBe(
        sum(before.trades.map(({ count_fp: count }) => count)),
      )
      const prices = before.trades.map((trade) => Number(trade.yes_price_dollars))
      const tops = candlesticks.map(({ price }) => Number(price['high_dollars']))
      expect(Math.max(...tops)).toBe(Math.max(...prices))
      expect(Number(candlesticks.at(-1)!.price['close_dollars'])).toBe(prices[0])
      expect(many.markets.map((one) => one.market_ticker)).toEqual([ticker])
      expect(many.markets[0]!.candlesticks).toEqual(candlesticks)
    }
    expect(steady).toBeGreaterThan(0)
  })

  it('reads the exchange, its schedule, fees, the cutoff and, signed, the limits', async () => {
    const status = await call('ExchangeApi.getExchangeStatus')
    expect(status).toMatchObject({ exchange_active: true, trading_active: true })
    type Schedule = { schedule: { standard_hours: { monday: object[] }[] } }
    const { schedule } = await call<Schedule>('ExchangeApi.getExchangeSchedule')
    expect(schedule.standard_hours[0]!.monday).toEqual([
      { open_time: '00:00', close_time: '00:00' },
    ])
    const changes = await call('ExchangeApi.getSeriesFeeChanges')
    expect(changes).toEqual({ series_fee_change_arr: [] })
    const cutoff = await call<Record<string, string>>('HistoricalApi.getHistoricalCutoff')
    expect(Date.parse(cutoff['market_settled_ts']!)).toBeLessThan(Date.now())
    const limits = await call('AccountApi.getAccountApiLimits')
    expect(limits).toMatchObject({ usage_tier: 'basic', read: { refill_rate: 200 } })
    expect((await fetch(`${restOf()}/account/limits`)).status).toBe(401)
  })
}

function plain({ yes_dollars: yes, no_dollars: no }: OrderBook): ReturnType<typeof fromBidsOnly> {
  return fromBidsOnly(yes, no)
}

/** Where a parsed answer differs from the bytes. Times may be written in another way. */
function differences(parsed: unknown, sent: unknown, path: string): string[] {
  if (Array.isArray(sent) && Array.isArray(parsed) && sent.length === parsed.length) {
    return sent.flatMap((one, at) => differences(parsed[at], one, `${path}[${at}]`))
  }
  if (isObject(sent) && isObject(parsed)) {
    const names = [...new Set([...Object.keys(sent), ...Object.keys(parsed)])]
    return names
      .filter((name) => !(UNMODELLED.has(name) && !(name in parsed)))
      .flatMap((name) => differences(parsed[name], sent[name], `${path}.${name}`))
  }
  if ((parsed ?? undefined) === (sent ?? undefined)) return []
  if (typeof sent === 'string' && typeof parsed === 'string' && /T\d\d:\d\d/.test(sent)) {
    if (Date.parse(sent) === Date.parse(parsed)) return []
  }
  return [`${path}: ${JSON.stringify(parsed)} instead of ${JSON.stringify(sent)}`]
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
