import { beforeAll, describe, expect, it } from 'vitest'
import { BROAD_START, createBroadVenue, type BroadVenue } from '../broad.testing.ts'
import { EMULATED_VENUE_B } from './index.ts'
import { signedHeaders } from './client.testing.ts'

type Market = Readonly<Record<string, unknown>> & {
  readonly ticker: string
  readonly event_ticker: string
  readonly status: string
  readonly created_time: string
  readonly updated_time: string
  readonly close_time: string
}
type Event = Readonly<Record<string, unknown>> & {
  readonly event_ticker: string
  readonly markets?: readonly Market[]
}
type Query = Record<string, string>

const BASE = '/trade-api/v2'
const { upstream: credentials, client: keys } = EMULATED_VENUE_B.keys('1', undefined)

let venue: BroadVenue
beforeAll(() => {
  venue = createBroadVenue('venueb', { markets: 400, rate: 60, turnover: 60, credentials })
  venue.advance(40_000)
})

function get(path: string, query: Query = {}): unknown {
  const { status, value } = venue.get(`${BASE}${path}`, query)
  expect(status).toBe(200)
  return value
}

function allMarkets(query: Query): Market[] {
  const markets: Market[] = []
  for (let cursor = ''; ;) {
    const page = get('/markets', { ...query, cursor }) as { markets: Market[]; cursor: string }
    markets.push(...page.markets)
    cursor = page.cursor
    if (cursor === '') return markets
  }
}

describe('the lists of venue B', () => {
  it('page through all markets, each once, and hide combinations where asked', () => {
    const all = allMarkets({ limit: '130' })
    const tickers = all.map(({ ticker }) => ticker)
    expect(new Set(tickers).size).toBe(tickers.length)
    expect(tickers.length).toBe(venue.topics().length)
    const combos = allMarkets({ mve_filter: 'only' })
    expect(combos).toHaveLength(40)
    for (const { mve_collection_ticker, mve_selected_legs } of combos) {
      expect(mve_collection_ticker).toMatch(/^KXMVE/)
      expect(mve_selected_legs).not.toHaveLength(0)
    }
    expect(allMarkets({ mve_filter: 'exclude', limit: '1000' })).toHaveLength(all.length - 40)
    expect(venue.get(`${BASE}/markets`, { limit: '1001' }).status).toBe(400)
    expect(venue.get(`${BASE}/markets`, { mve_filter: 'some' }).status).toBe(400)
  })

  it('filter markets by status, series, event and ticker', () => {
    const [wanted, other] = allMarkets({ status: 'open', mve_filter: 'exclude' }) as [
      Market,
      Market,
    ]
    const tickers = `${wanted.ticker},${other.ticker},NONE`
    expect(new Set(allMarkets({ tickers }))).toEqual(new Set([wanted, other]))
    const { event } = get(`/events/${wanted.event_ticker}`) as { event: { series_ticker: string } }
    const ofSeries = allMarkets({ series_ticker: event.series_ticker })
    expect(ofSeries).toContainEqual(wanted)
    const ofEvent = allMarkets({ event_ticker: wanted.event_ticker })
    expect(ofEvent).toContainEqual(wanted)
    for (const market of ofEvent) expect(ofSeries).toContainEqual(market)
    const all = allMarkets({})
    for (const [filter, words] of Object.entries(STATUS)) {
      const expected = all.filter(({ status }) => words.includes(status))
      expect(allMarkets({ status: filter })).toEqual(expected)
    }
  })

  it('filter by time, one family of filters at a time', () => {
    const all = allMarkets({})
    const since = Math.floor(BROAD_START / 1000)
    const created = all.filter(({ created_time }) => Date.parse(created_time) >= since * 1000)
    expect(created.length).toBeGreaterThan(10)
    expect(allMarkets({ min_created_ts: String(since) })).toEqual(created)
    const updated = all.filter(({ updated_time }) => Date.parse(updated_time) >= since * 1000)
    expect(updated.length).toBeGreaterThan(created.length - 1)
    expect(allMarkets({ min_updated_ts: String(since) })).toEqual(updated)
    const day = String(since + 86_400)
    const soon = all.filter(({ close_time }) => Date.parse(close_time) <= Number(day) * 1000)
    expect(allMarkets({ max_close_ts: day })).toEqual(soon)
    for (const query of [
      { min_created_ts: day, min_close_ts: day },
      { min_created_ts: day, status: 'closed' },
      { max_close_ts: day, status: 'open' },
      { min_settled_ts: day, status: 'open' },
      { min_updated_ts: day, status: 'open' },
      { min_updated_ts: day, series_ticker: 'KXNBAGAME' },
      { min_updated_ts: 'x' },
    ] as Query[]) {
      expect([query, venue.get(`${BASE}/markets`, query).status]).toEqual([query, 400])
    }
    const beside = { min_updated_ts: String(since), mve_filter: 'exclude' }
    expect(allMarkets(beside)).toEqual(updated)
  })

  it('group markets in events, without combinations', () => {
    const events: Event[] = []
    for (let cursor = ''; ;) {
      const query = { limit: '50', with_nested_markets: 'true', cursor }
      const page = get('/events', query) as { events: Event[]; cursor: string }
      events.push(...page.events)
      cursor = page.cursor
      if (cursor === '') break
    }
    expect(new Set(events.map(({ event_ticker }) => event_ticker)).size).toBe(events.length)
    const nested = events.flatMap(({ markets }) => markets!)
    expect(nested).toHaveLength(allMarkets({ mve_filter: 'exclude' }).length)
    const exclusive = events.find(({ markets }) => markets!.length > 10)!
    expect(exclusive).toMatchObject({ mutually_exclusive: true, collateral_return_type: 'MECNET' })
    const until = String(BROAD_START / 1000 + 86_400)
    const late = get('/events', { status: 'open', min_close_ts: until }) as { events: Event[] }
    expect(late.events.length).toBeGreaterThan(0)
    expect(late.events.length).toBeLessThan(events.length)
    expect(venue.get(`${BASE}/events`, { limit: '201' }).status).toBe(400)
    const combos = get('/events/multivariate') as { events: Event[] }
    expect(combos.events).toHaveLength(40)
    const ticker = exclusive.event_ticker
    const details = get(`/events/${ticker}/metadata`) as {
      market_details: { market_ticker: string }[]
    }
    const tickers = details.market_details.map(({ market_ticker }) => market_ticker)
    expect(new Set(tickers)).toEqual(new Set(exclusive.markets!.map((one) => one.ticker)))
  })

  it('show ranges with their bounds and fine prices with their steps', () => {
    const all = allMarkets({ mve_filter: 'exclude' })
    const shapes = all.map(
      ({ strike_type, floor_strike, cap_strike }) =>
        `${String(strike_type)} ${typeof floor_strike} ${typeof cap_strike}`,
    )
    expect([...new Set(shapes)].toSorted()).toEqual([
      'between number number',
      'custom undefined undefined',
      'greater number undefined',
      'less undefined number',
      'structured undefined undefined',
    ])
    const fine = all.find(({ price_level_structure }) => price_level_structure === 'deci_cent')
    expect(fine).toMatchObject({ price_ranges: [{ step: '0.0010' }] })
  })

  it('list series by category and tag', () => {
    type Series = { ticker: string; category: string; tags: string[]; title: string }
    const { series } = get('/series') as { series: Series[] }
    const categories = new Set(series.map(({ category }) => category))
    for (const name of ['Politics', 'Sports', 'Economics', 'Climate and Weather', 'Crypto']) {
      expect(categories).toContain(name)
    }
    const weather = (get('/series', { category: 'Climate and Weather' }) as { series: Series[] })
      .series
    expect(weather).toEqual(series.filter(({ category }) => category === 'Climate and Weather'))
    const tagged = (get('/series', { tags: 'Elections' }) as { series: Series[] }).series
    expect(tagged).toEqual(series.filter(({ tags }) => tags.includes('Elections')))
    const [one] = tagged as [Series]
    expect(get(`/series/${one.ticker}`)).toEqual({ series: one })
    expect(get('/exchange/schedule')).toMatchObject({ schedule: { maintenance_windows: [] } })
  })

  it('have the fields that the official client 3.34 refuses to miss', () => {
    const bounds = new Set(allMarkets({}).map((market) => market['settlement_bounds_type']))
    expect([...bounds]).toEqual(['default'])
    type Series = { category: string; categories: string[] }
    const { series } = get('/series') as { series: Series[] }
    for (const { category, categories } of series) expect(categories).toEqual([category])
    const { event_ticker: event } = allMarkets({ status: 'open' })[0]!
    const flat = get(`/events/${event}`) as { event: Event; markets: readonly Market[] }
    expect(get(`/events/${event}`, { with_nested_markets: 'true' })).toEqual({
      event: { ...flat.event, markets: flat.markets },
      markets: flat.markets,
    })
    expect(Object.keys(get('/events/multivariate') as object)).toEqual(['cursor', 'events'])
    expect(get('/events/fee_changes')).toEqual({ cursor: '', event_fee_changes: [] })
    const path = `${BASE}/account/limits`
    const address = { rest: '', ws: '', ...keys }
    const signed = signedHeaders(address, path, BROAD_START + 40_000 - Date.now())
    const headers = Object.fromEntries(
      Object.entries(signed).map(([name, value]) => [name.toLowerCase(), value]),
    )
    const query = new URLSearchParams()
    const { body } = venue.upstream.answer({ method: 'GET', path, query, headers, body: '' })
    expect(JSON.parse(body)).toMatchObject({
      grants: [],
      read: { bucket_capacity: 200, refill_rate: 200 },
      usage_tier: 'basic',
    })
  })

  it('make candlesticks of trades', () => {
    const { trades } = get('/markets/trades', { limit: '1000' }) as { trades: Trade[] }
    const { ticker } = trades[0]!
    const own = trades.filter((trade) => trade.ticker === ticker)
    const series = ticker.split('-')[0]!
    const from = BROAD_START / 1000 - 3_600
    const range = { start_ts: String(from), end_ts: String(from + 7_200), period_interval: '60' }
    const path = `/series/${series}/markets/${ticker}/candlesticks`
    const { candlesticks } = get(path, range) as { candlesticks: Candle[] }
    const prices = own.map(({ yes_price_dollars }) => Number(yes_price_dollars))
    const volume = own.reduce((sum, { count_fp }) => sum + Math.round(Number(count_fp) * 100), 0)
    expect(candlesticks).toHaveLength(1)
    const [{ price, volume_fp, end_period_ts }] = candlesticks as [Candle]
    expect(Number(price['high_dollars'])).toBe(Math.max(...prices))
    expect(Number(price['low_dollars'])).toBe(Math.min(...prices))
    expect(Number(price['open_dollars'])).toBe(prices.at(-1))
    expect(Number(price['close_dollars'])).toBe(prices[0])
    expect(Math.round(Number(volume_fp) * 100)).toBe(volume)
    expect(end_period_ts % 3_600).toBe(0)
    const many = get('/markets/candlesticks', {
      market_tickers: `${ticker},NONE`,
      ...range,
    }) as { markets: object[] }
    expect(many.markets).toEqual([{ candlesticks, market_ticker: ticker }])
    const later = String(from + 10_800)
    const after = { ...range, start_ts: later, end_ts: later, include_latest_before_start: 'true' }
    const [latest] = (get(path, after) as { candlesticks: Candle[] }).candlesticks
    expect(latest).toMatchObject({
      end_period_ts: from + 14_400,
      volume_fp: '0.00',
      price: { close_dollars: null, previous_dollars: own[0]!.yes_price_dollars },
    })
    const wide = { ...range, start_ts: '0', period_interval: '1', market_tickers: ticker }
    expect(venue.get(`${BASE}/markets/candlesticks`, wide).status).toBe(400)
    expect(venue.get(`${BASE}${path}`, { ...range, period_interval: '5' }).status).toBe(400)
  })
})

type Trade = {
  readonly ticker: string
  readonly yes_price_dollars: string
  readonly count_fp: string
}
type Candle = {
  readonly price: Readonly<Record<string, string>>
  readonly volume_fp: string
  readonly end_period_ts: number
}

const STATUS: Readonly<Record<string, readonly string[]>> = {
  unopened: ['initialized'],
  open: ['active'],
  paused: ['inactive'],
  closed: ['closed', 'determined', 'disputed'],
  settled: ['finalized'],
}

describe('the socket of venue B over a broad world', () => {
  type Frame = { type: string; sid: number; seq: number; msg: Record<string, unknown> }
  const path = '/trade-api/ws/v2'

  function open(broad: BroadVenue): ReturnType<BroadVenue['connect']> {
    const address = { rest: '', ws: '', ...keys }
    const skewMs = broad.world.now('venueb') - Date.now()
    const headers = Object.entries(signedHeaders(address, path, skewMs))
    return broad.connect(
      path,
      Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
    )
  }

  it('announces new topics, moved closes and results to every subscriber', () => {
    const broad = createBroadVenue('venueb', { markets: 50, turnover: 30, speed: 20, credentials })
    const { wire, session } = open(broad)
    session.onText('{"id":1,"cmd":"subscribe","params":{"channels":["market_lifecycle_v2"]}}')
    broad.advance(40_000)
    session.onClose()
    const frames = wire.take() as Frame[]
    const types = new Set(frames.map(({ msg }) => msg['event_type']))
    for (const type of ['created', 'close_date_updated', 'determined', 'settled', 'deactivated']) {
      expect(types).toContain(type)
    }
    const numbers = frames.filter(({ seq }) => seq !== undefined).map(({ seq }) => seq)
    expect(numbers).toEqual(numbers.map((_, at) => at + 1))
    const created = frames.find(({ msg }) => msg['event_type'] === 'created')!.msg
    expect(created['additional_metadata']).toMatchObject({ event_ticker: expect.any(String) })
  })

  it('sends a market to those who chose it, each subscription with its own numbers', () => {
    const broad = createBroadVenue('venueb', { markets: 300, rate: 500, credentials })
    const tickers = broad.topics().map((market) => broad.upstream.keys(market)[0]!)
    const clients = Array.from({ length: 5 }, (_, at) => {
      const client = open(broad)
      const own = tickers.filter((_ticker, index) => index % 5 === at)
      const params = { channels: ['orderbook_delta'], market_tickers: own }
      client.session.onText(JSON.stringify({ id: 1, cmd: 'subscribe', params }))
      return { ...client, own: new Set(own) }
    })
    broad.advance(5_000)
    const changed = broad.events.filter(({ kind }) => kind === 'book')
    const expected = changed.reduce(
      (sum, event) => sum + (event.kind === 'book' ? event.levels.length : 0),
      0,
    )
    let deltas = 0
    for (const { wire, session, own } of clients) {
      const frames = (wire.take() as Frame[]).slice(1)
      expect(frames.map(({ seq }) => seq)).toEqual(frames.map((_, at) => at + 1))
      for (const { msg } of frames) expect(own.has(msg['market_ticker'] as string)).toBe(true)
      deltas += frames.filter(({ type }) => type === 'orderbook_delta').length
      session.onClose()
    }
    expect(deltas).toBe(expected)
    expect(deltas).toBeGreaterThan(2_000)
  })

  it('refuses more markets in a subscription than its limit', () => {
    const limits = { subscriptionMarkets: 10 }
    const broad = createBroadVenue('venueb', { markets: 300, credentials, limits })
    const { wire, session } = open(broad)
    const tickers = broad.topics().map((market) => broad.upstream.keys(market)[0]!)
    const subscribe = (count: number): void => {
      const params = { channels: ['orderbook_delta'], market_tickers: tickers.slice(0, count) }
      session.onText(JSON.stringify({ id: count, cmd: 'subscribe', params }))
    }
    subscribe(11)
    expect(wire.take()).toMatchObject([{ type: 'error', msg: { code: 26 } }])
    subscribe(10)
    expect(wire.take()).toHaveLength(11)
    const params = { sids: [1], action: 'add_markets', market_tickers: [tickers[10]] }
    session.onText(JSON.stringify({ id: 3, cmd: 'update_subscription', params }))
    expect(wire.take()).toMatchObject([{ type: 'error', msg: { code: 26 } }])
    session.onClose()
  })
})
