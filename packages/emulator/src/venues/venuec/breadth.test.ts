import { beforeAll, describe, expect, it } from 'vitest'
import { BROAD_START, createBroadVenue, type BroadVenue } from '../broad.testing.ts'
import { MAX_ASSETS } from './channel.ts'

type Market = Readonly<Record<string, unknown>> & {
  readonly id: string
  readonly slug: string
  readonly conditionId: string
  readonly clobTokenIds: string
  readonly volumeNum: number
  readonly liquidityNum: number
  readonly endDate: string
  readonly startDate: string
}
type Event = Readonly<Record<string, unknown>> & {
  readonly id: string
  readonly slug: string
  readonly title: string
  readonly volume: number
  readonly markets: readonly Market[]
  readonly tags: readonly { readonly id: string; readonly label: string; readonly slug: string }[]
}
type Query = Record<string, string>

let venue: BroadVenue
beforeAll(() => {
  venue = createBroadVenue('venuec', { markets: 400, rate: 60, turnover: 60 })
  venue.advance(40_000)
})

function get(path: string, query: Query | [string, string][] = {}): unknown {
  const { status, value } = venue.get(path, query)
  expect(status).toBe(200)
  return value
}

function all<T>(path: string, query: Query = {}): T[] {
  const rows: T[] = []
  for (let offset = 0; ; offset += 100) {
    const page = get(path, { limit: '500', offset: String(offset), ...query }) as T[]
    expect(page.length).toBeLessThanOrEqual(100)
    rows.push(...page)
    if (page.length < 100) return rows
  }
}

const allMarkets = (query: Query = {}): Market[] => all<Market>('/gamma/markets', query)

describe('Gamma over a broad world', () => {
  it('pages through all markets by offset, each once', () => {
    const open = allMarkets()
    const closed = allMarkets({ closed: 'true' })
    expect(closed.length).toBeGreaterThan(0)
    const markets = [...open, ...closed]
    expect(markets).toHaveLength(venue.topics().length)
    for (const name of ['id', 'slug', 'conditionId', 'clobTokenIds'] as const) {
      expect(new Set(markets.map((market) => market[name])).size).toBe(markets.length)
    }
    expect(venue.get('/gamma/markets', { offset: '10001' }).status).toBe(422)
  })

  it('pages through all markets and events by cursor, in any order, as by offset', () => {
    const walk = <T>(kind: 'markets' | 'events', query: Query): T[] => {
      const rows: T[] = []
      for (let cursor: Query = {}; ;) {
        const page = get(`/gamma/${kind}/keyset`, { limit: '90', ...query, ...cursor }) as Query
        rows.push(...(page[kind] as unknown as T[]))
        if (!('next_cursor' in page)) return rows
        cursor = { after_cursor: page['next_cursor'] }
      }
    }
    const orders: Query[] = [{ ascending: 'false' }, { order: 'endDate,volumeNum' }]
    for (const query of orders) expect(walk('markets', query)).toEqual(allMarkets(query))
    expect(walk('events', { order: 'endDate' })).toEqual(all('/gamma/events', { order: 'endDate' }))
    for (const query of [{ offset: '0' }, { after_cursor: 'x' }, { limit: '0' }] as Query[]) {
      expect(venue.get('/gamma/markets/keyset', query).status).toBe(422)
    }
  })

  it('marks the markets of an exclusive question as one group', () => {
    const events = all<Event>('/gamma/events', { closed: 'false' })
    const election = events.find(({ markets }) => markets.length > 10)!
    expect(election).toMatchObject({ negRisk: true, enableNegRisk: true })
    const ids = new Set(election.markets.map(({ negRiskMarketID }) => negRiskMarketID))
    expect([...ids]).toEqual([election['negRiskMarketID']])
    for (const [place, market] of election.markets.entries()) {
      expect(market).toMatchObject({ negRisk: true, groupItemThreshold: String(place) })
      expect(market['question']).toContain(market['groupItemTitle'])
    }
    const single = events.find(({ markets }) => markets.length === 1)!
    expect(single.markets[0]).toMatchObject({ negRisk: false })
    expect(single.markets[0]).not.toHaveProperty('groupItemTitle')
    expect(election.markets[0]).not.toHaveProperty('events')
    const [alone] = get('/gamma/markets', { id: election.markets[0]!.id }) as Market[]
    expect(alone).toMatchObject({ events: [{ id: election.id, slug: election.slug }] })
    expect(get(`/gamma/events/${election.id}`)).toEqual(election)
    expect(get(`/gamma/events/slug/${election.slug}`)).toEqual(election)
    expect(venue.get('/gamma/events/1').status).toBe(404)
  })

  it('names the sides of a match as its outcomes', () => {
    const matches = venue.topics().filter(({ topic }) => topic.kind === 'match')
    const two = matches.find(({ topic }) => topic.markets.length === 1)!
    const [condition] = get('/gamma/markets', {
      clob_token_ids: venue.upstream.keys(two)[0]!,
      ...(two.phase === 'open' || two.phase === 'paused' ? {} : { closed: 'true' }),
    }) as Market[] as [Market]
    expect(JSON.parse(condition['outcomes'] as string)).toEqual(two.answer.outcomes)
    expect(two.answer.outcomes[0]).not.toBe('Yes')
    expect(condition).toMatchObject({
      sportsMarketType: 'moneyline',
      gameStartTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+00$/),
      feeType: 'sports_fees_v2',
    })
  })

  it('orders and filters', () => {
    const markets = allMarkets()
    const sorted = allMarkets({ order: 'volumeNum', ascending: 'false' })
    expect(sorted.map(({ volumeNum }) => volumeNum)).toEqual(
      markets.map(({ volumeNum }) => volumeNum).toSorted((a, b) => b - a),
    )
    const least = sorted[20]!.volumeNum
    expect(allMarkets({ volume_num_min: String(least) })).toHaveLength(
      markets.filter(({ volumeNum }) => volumeNum >= least).length,
    )
    const liquid = markets.filter(({ liquidityNum }) => liquidityNum >= 500)
    expect(allMarkets({ liquidity_num_min: '500' })).toEqual(liquid)
    const since = new Date(BROAD_START).toISOString()
    const recent = markets.filter(({ startDate }) => Date.parse(startDate) >= BROAD_START)
    expect(recent.length).toBeGreaterThan(5)
    expect(allMarkets({ start_date_min: since })).toEqual(recent)
    const soon = new Date(BROAD_START + 3_600_000).toISOString()
    const ending = markets.filter(({ endDate }) => Date.parse(endDate) <= Date.parse(soon))
    expect(allMarkets({ end_date_max: soon })).toEqual(ending)
    const ids = markets.slice(0, 101).map(({ conditionId }) => ['condition_ids', conditionId])
    expect(venue.get('/gamma/markets', ids as [string, string][]).status).toBe(422)
    const some = ids.slice(0, 50) as [string, string][]
    expect(get('/gamma/markets', [...some, ['limit', '100']]) as Market[]).toHaveLength(50)
  })

  it('has tags, and lists by them', () => {
    const tags = get('/gamma/tags') as Event['tags']
    const weather = tags.find(({ label }) => label === 'Weather')!
    expect(get(`/gamma/tags/${weather.id}`)).toEqual(weather)
    expect(get(`/gamma/tags/slug/weather`)).toEqual(weather)
    const events = all<Event>('/gamma/events', { tag_id: weather.id })
    expect(events.length).toBeGreaterThan(3)
    for (const event of events) expect(event.tags).toContainEqual(weather)
    expect(all<Event>('/gamma/events', { tag_slug: 'weather' })).toEqual(events)
    const tagged = allMarkets({ tag_id: weather.id, include_tag: 'true' })
    for (const market of tagged) expect(market['tags']).toContainEqual(weather)
  })

  it('searches the titles of open events', () => {
    const { events, pagination } = get('/gamma/public-search', {
      q: 'TEMPERATURE',
      limit_per_type: '2',
    }) as {
      events: Event[]
      pagination: { totalResults: number; hasMore: boolean }
    }
    expect(events).toHaveLength(2)
    for (const { title } of events) expect(title.toLowerCase()).toContain('temperature')
    expect(pagination.hasMore).toBe(pagination.totalResults > 2)
    expect(venue.get('/gamma/public-search', {}).status).toBe(422)
  })

  it('shows another end of a market whose close was moved', () => {
    const moved = venue.events.filter((event) => event.kind === 'moved')
    expect(moved.length).toBeGreaterThan(0)
    const { proposition } = moved.at(-1)!
    const [token] = venue.upstream.keys(proposition)
    const query: [string, string][] = [['clob_token_ids', token!]]
    const [market] = [
      ...(get('/gamma/markets', query) as Market[]),
      ...(get('/gamma/markets', [...query, ['closed', 'true']]) as Market[]),
    ]
    expect(Date.parse(market!.endDate)).toBe(proposition.closeTime)
  })
})

describe('the order books over a broad world', () => {
  type Book = { bids: { price: string }[]; asks: { price: string }[]; neg_risk: boolean }
  const tokenOf = (isWanted: (size: number) => boolean): string =>
    venue.upstream.keys(
      venue
        .topics()
        .find(
          ({ phase, book, topic }) =>
            phase === 'open' &&
            isWanted(topic.markets.length) &&
            book.bids.length * book.asks.length > 0,
        )!,
    )[0]!

  it('answers what official clients ask about one token', () => {
    const token_id = tokenOf((size) => size > 3)
    const { bids, asks, neg_risk } = get('/clob/book', { token_id }) as Book
    const bid = Number(bids.at(-1)!.price)
    const ask = Number(asks.at(-1)!.price)
    expect(neg_risk).toBe(true)
    expect(get('/clob/neg-risk', { token_id })).toEqual({ neg_risk: true })
    expect(get('/clob/fee-rate', { token_id })).toEqual({ base_fee: 0 })
    const one = (path: string, query: Query = {}): unknown => get(path, { token_id, ...query })
    expect(Number((one('/clob/midpoint') as { mid: string }).mid)).toBeCloseTo((bid + ask) / 2, 10)
    expect(Number((one('/clob/spread') as { spread: string }).spread)).toBeCloseTo(ask - bid, 10)
    expect(one('/clob/price', { side: 'BUY' })).toEqual({ price: bids.at(-1)!.price })
    expect(one('/clob/price', { side: 'sell' })).toEqual({ price: asks.at(-1)!.price })
    expect(venue.get('/clob/price', { token_id }).status).toBe(400)
    expect(venue.get('/clob/midpoint', { token_id: '1' }).status).toBe(404)
    expect(venue.get('/clob/midpoint').status).toBe(400)
    const { history } = get('/clob/prices-history', {
      market: token_id,
      interval: '1h',
      fidelity: '1',
    }) as { history: { t: number; p: number }[] }
    expect(history.length).toBeGreaterThan(0)
    expect(venue.get('/clob/prices-history', { market: token_id }).status).toBe(400)
    expect(get('/clob/')).toBe('OK')
    expect(get('/clob/ok')).toBe('OK')
    expect(get('/clob/version')).toEqual({ version: 2 })
    expect(get('/clob/time')).toBe(Math.floor(venue.world.now('venuec') / 1000))
  })

  it('answers the same of many tokens at once', () => {
    const tokens = [tokenOf((size) => size > 3), tokenOf((size) => size === 1)]
    const body = tokens.map((token_id) => ({ token_id, side: 'BUY' }))
    const post = (path: string): unknown => {
      const { status, value } = venue.post(path, [...body, { token_id: '1', side: 'BUY' }])
      expect(status).toBe(200)
      return value
    }
    const each = (path: string, name: string, more: Query = {}): unknown =>
      Object.fromEntries(
        tokens.map((token_id) => {
          const value = get(path, { token_id, ...more }) as Record<string, string>
          return [token_id, value[name]]
        }),
      )
    expect(post('/clob/midpoints')).toEqual(each('/clob/midpoint', 'mid'))
    expect(post('/clob/spreads')).toEqual(each('/clob/spread', 'spread'))
    const buys = each('/clob/price', 'price', { side: 'BUY' }) as Record<string, string>
    expect(post('/clob/prices')).toEqual(
      Object.fromEntries(Object.entries(buys).map(([token, price]) => [token, { BUY: price }])),
    )
    expect(post('/clob/last-trades-prices')).toEqual(
      tokens.map((token_id) => ({
        token_id,
        ...(get('/clob/last-trade-price', { token_id }) as object),
      })),
    )
    expect(venue.post('/clob/prices', [{ token_id: tokens[0] }]).status).toBe(400)
    expect(venue.post('/clob/midpoints', { token_id: tokens[0] }).status).toBe(400)
    expect(venue.get('/clob/midpoints').status).toBe(405)
  })

  it('tells the last trade and the history of prices in the terms of each token', () => {
    const traded = venue.events.findLast(
      (event) =>
        event.kind === 'book' && event.fill !== undefined && event.proposition.phase === 'open',
    )!
    const fill = (traded.kind === 'book' ? traded.fill : undefined)!
    const [first, second] = venue.upstream.keys(traded.proposition) as [string, string]
    const last = (token_id: string) =>
      get('/clob/last-trade-price', { token_id }) as { price: string; side: string }
    expect(Number(last(first).price)).toBe(fill.price / 10_000)
    expect(last(first).side).toBe(fill.taker === 'buy' ? 'BUY' : 'SELL')
    expect(Number(last(second).price)).toBeCloseTo(1 - fill.price / 10_000, 10)
    expect(last(second).side).not.toBe(last(first).side)
    const range = { startTs: String(BROAD_START / 1000 - 60), fidelity: '1' }
    const points = (market: string) =>
      (get('/clob/prices-history', { market, ...range }) as { history: { p: number }[] }).history
    expect(points(first).at(-1)!.p).toBe(fill.price / 10_000)
    expect(points(second).at(-1)!.p).toBeCloseTo(1 - fill.price / 10_000, 10)
  })

  it('pages through its own catalogue in four forms', () => {
    type Page = { data: Record<string, unknown>[]; next_cursor: string; limit: number }
    const pages = (path: string): Record<string, unknown>[] => {
      const rows: Record<string, unknown>[] = []
      for (let cursor = 'MA=='; cursor !== 'LTE=';) {
        const page = get(path, { next_cursor: cursor }) as Page
        rows.push(...page.data)
        cursor = page.next_cursor
      }
      return rows
    }
    const markets = pages('/clob/markets')
    const simple = pages('/clob/simplified-markets')
    expect(simple.map((row) => row['condition_id'])).toEqual(
      markets.map((row) => row['condition_id']),
    )
    expect(simple[0]).not.toHaveProperty('question')
    const sampled = markets.filter((row) => row['accepting_orders'] === true)
    expect(pages('/clob/sampling-markets')).toEqual(sampled)
    expect(pages('/clob/sampling-simplified-markets')).toHaveLength(sampled.length)
    const [market] = markets as [Record<string, unknown>]
    expect(get(`/clob/markets/${String(market['condition_id'])}`)).toEqual(market)
    const [{ token_id }] = market['tokens'] as [{ token_id: string }]
    expect(get(`/clob/markets-by-token/${token_id}`)).toMatchObject({
      condition_id: market['condition_id'],
      primary_token_id: token_id,
    })
    expect(venue.get('/clob/markets-by-token/1').status).toBe(404)
  })
})

describe('the market channel over a broad world', () => {
  type Frame = Record<string, unknown> & { event_type: string; asset_id: string }

  it('sends all first books in one array, and none above the limit of tokens', () => {
    const broad = createBroadVenue('venuec', { markets: 400, rate: 300 })
    const tokens = broad.topics().flatMap((market) => [...broad.upstream.keys(market)])
    const subscribe = (assets_ids: readonly string[]) => {
      const client = broad.connect('/ws/market')
      client.session.onText(JSON.stringify({ assets_ids, type: 'market' }))
      return client
    }
    const few = subscribe(tokens.slice(0, 200))
    const first = few.wire.take()
    expect(first).toHaveLength(1)
    expect((first[0] as Frame[]).map(({ asset_id }) => asset_id)).toEqual(tokens.slice(0, 200))
    const many = subscribe(tokens.slice(0, MAX_ASSETS + 1))
    expect(many.wire.take()).toEqual([])
    broad.advance(3_000)
    const frames = many.wire.take() as Frame[]
    expect(frames.length).toBeGreaterThan(100)
    const own = new Set(tokens.slice(0, 200))
    type Change = { price_changes?: { asset_id: string }[] }
    const isOwn = (frame: Frame): boolean =>
      ((frame as Change).price_changes ?? [frame]).some(({ asset_id }) => own.has(asset_id))
    expect(few.wire.take()).toEqual(frames.filter(isOwn))
    many.session.onClose()
    few.session.onClose()
    broad.advance(1_000)
    expect(few.wire.take()).toEqual([])
  })

  it('announces new markets to every client with custom features', () => {
    const broad = createBroadVenue('venuec', { markets: 50, rate: 0, turnover: 60 })
    const custom = broad.connect('/ws/market')
    custom.session.onText('{"assets_ids":[],"type":"market","custom_feature_enabled":true}')
    const plain = broad.connect('/ws/market')
    plain.session.onText('{"assets_ids":[],"type":"market"}')
    broad.advance(20_000)
    const listed = broad.events.filter(({ kind }) => kind === 'listed')
    const frames = custom.wire.take() as Frame[]
    expect(listed.length).toBeGreaterThan(10)
    expect(frames.map(({ assets_ids }) => assets_ids)).toEqual(
      listed.map(({ proposition }) => broad.upstream.keys(proposition)),
    )
    for (const frame of frames) {
      expect(frame).toMatchObject({ event_type: 'new_market', active: false })
      expect(frame['tags']).not.toHaveLength(0)
    }
    expect(plain.wire.take()).toEqual([])
  })
})
