import type {
  Payload,
  Phase,
  Proposition,
  UpstreamAnswer,
  UpstreamRequest,
  World,
} from '../../core/upstream.ts'
import type { Markets, Trades } from './markets.ts'
import {
  ALL_SERIES,
  eventObject,
  marketObject,
  orderbookObject,
  seriesObject,
  tradeObject,
  type NativeObject,
} from './objects.ts'
import { isSigned, type CheckSignature } from './signature.ts'

/** The parts that the routes read from. */
export type RestParts = {
  readonly world: World
  readonly markets: Markets
  readonly trades: Trades
  readonly check: CheckSignature
}

/** Every request costs this many tokens, batches as many per item. */
const COST = 10
/** Max tokens per second in the basic tier. */
export const READ_TOKENS = 200
const BASE = '/trade-api/v2'
const MAX_BATCH = 100

/** Creates the request handler of the REST interface. */
export function createRest(parts: RestParts): (request: UpstreamRequest) => UpstreamAnswer {
  const rest = new Rest(parts)
  return (request) => rest.answer(request)
}

class Rest {
  private readonly world: World
  private readonly markets: Markets
  private readonly trades: Trades
  private readonly check: CheckSignature
  private readonly fixed: Readonly<Record<string, (request: UpstreamRequest) => UpstreamAnswer>>

  constructor({ world, markets, trades, check }: RestParts) {
    this.world = world
    this.markets = markets
    this.trades = trades
    this.check = check
    this.fixed = {
      series: () => good({ series: ALL_SERIES.map(seriesObject) }),
      events: (request) => this.listEvents(request),
      markets: (request) => this.listMarkets(request),
      'markets/orderbooks': (request) => this.manyBooks(request),
      'markets/trades': (request) => this.listTrades(request),
      'exchange/status': () => good({ exchange_active: true, trading_active: true }),
      'account/limits': (request) =>
        check(request) ?? good({ read_limit: READ_TOKENS, usage_tier: 'basic', write_limit: 100 }),
      'historical/cutoff': () => this.cutoff(),
    }
  }

  answer(request: UpstreamRequest): UpstreamAnswer {
    const { path, method } = request
    if (!path.startsWith(`${BASE}/`)) return missing('route')
    if (method !== 'GET') return error(405, 'method_not_allowed', 'method not allowed')
    const route = path.slice(BASE.length + 1)
    if (Object.hasOwn(this.fixed, route)) return this.fixed[route]!(request)
    const [collection, id = '', part, ...more] = route.split('/')
    if (more.length > 0 || (part !== undefined && part !== 'orderbook')) return missing('route')
    if (part !== undefined)
      return collection === 'markets' ? this.oneBook(id, request) : missing('route')
    if (collection === 'series') {
      const series = ALL_SERIES.find(({ ticker }) => ticker === id)
      return series === undefined ? missing('series') : good({ series: seriesObject(series) })
    }
    if (collection === 'events') return this.oneEvent(id, request)
    if (collection !== 'markets') return missing('route')
    const market = this.markets.find(id)
    return market === undefined
      ? missing('market')
      : good({ market: this.object(market) }, [this.claim(market)])
  }

  private listMarkets({ query }: UpstreamRequest): UpstreamAnswer {
    const chosen = selectMarkets(this.markets, query)
    if (typeof chosen === 'string') return bad(chosen)
    const page = selectPage(chosen, query, 100, 1000)
    if (typeof page === 'string') return bad(page)
    const { rows, cursor } = page
    return good({ cursor, markets: rows.map(this.object) }, rows.map(this.claim))
  }

  private listEvents({ query }: UpstreamRequest): UpstreamAnswer {
    const chosen = selectMarkets(this.markets, query)
    if (typeof chosen === 'string') return bad(chosen)
    const events = new Map<string, Proposition[]>()
    for (const market of chosen) {
      const { event } = this.markets.names(market)
      events.set(event, [...(events.get(event) ?? []), market])
    }
    const page = selectPage([...events.values()], query, 200, 200)
    if (typeof page === 'string') return bad(page)
    const nested = query.get('with_nested_markets') === 'true'
    const rows = page.rows.map((group) => {
      const event = eventObject(group[0]!, this.markets.names(group[0]!))
      return nested ? { ...event, markets: group.map(this.object) } : event
    })
    const shown = nested ? page.rows.flat().map(this.claim) : []
    return good({ cursor: page.cursor, events: rows, milestones: [] }, shown)
  }

  private oneEvent(ticker: string, { query }: UpstreamRequest): UpstreamAnswer {
    const group = this.markets.all().filter((market) => this.markets.names(market).event === ticker)
    if (group.length === 0) return missing('event')
    const event = eventObject(group[0]!, this.markets.names(group[0]!))
    const objects = group.map(this.object)
    return query.get('with_nested_markets') === 'true'
      ? good({ event: { ...event, markets: objects } }, group.map(this.claim))
      : good({ event, markets: objects }, group.map(this.claim))
  }

  private oneBook(ticker: string, request: UpstreamRequest): UpstreamAnswer {
    const refused = isSigned(request) ? this.check(request) : undefined
    if (refused !== undefined) return refused
    const market = this.markets.find(ticker)
    if (market === undefined) return missing('market')
    const depth = wholeOf(request.query, 'depth') ?? 0
    if (Number.isNaN(depth) || depth > 100) return bad('depth')
    return good({ orderbook_fp: orderbookObject(market, depth) }, [this.shown(market, depth)])
  }

  private manyBooks(request: UpstreamRequest): UpstreamAnswer {
    const refused = isSigned(request) ? this.check(request) : undefined
    if (refused !== undefined) return refused
    const tickers = request.query.getAll('tickers')
    if (tickers.length === 0 || tickers.length > MAX_BATCH) return bad('tickers')
    const found = tickers.flatMap((ticker) => this.markets.find(ticker) ?? [])
    const orderbooks = found.map((market) => ({
      orderbook_fp: orderbookObject(market, 0),
      ticker: this.markets.names(market).ticker,
    }))
    return {
      ...good(
        { orderbooks },
        found.map((market) => this.shown(market, 0)),
      ),
      cost: COST * tickers.length,
    }
  }

  private listTrades({ query }: UpstreamRequest): UpstreamAnswer {
    const ticker = query.get('ticker')
    const from = (wholeOf(query, 'min_ts') ?? 0) * 1000
    const to = (wholeOf(query, 'max_ts') ?? Infinity) * 1000
    const chosen = this.trades
      .list()
      .filter((trade) => ticker === null || trade.ticker === ticker)
      .filter(({ at }) => at >= from && at <= to)
    const page = selectPage(chosen, query, 100, 1000)
    if (typeof page === 'string') return bad(page)
    const payloads = page.rows.map(({ id, ticker: key, price, size, taker }): Payload => {
      return { kind: 'trade', key, id, fill: { price, size, taker } }
    })
    return good({ cursor: page.cursor, trades: page.rows.map(tradeObject) }, payloads)
  }

  private cutoff(): UpstreamAnswer {
    const cutoff = new Date(this.world.now('venueb') - CUTOFF_MS).toISOString()
    return good({
      market_settled_ts: cutoff,
      orders_updated_ts: cutoff,
      trades_created_ts: cutoff,
    })
  }

  private readonly object = (market: Proposition): NativeObject =>
    marketObject(market, this.markets.names(market), this.markets.times(market))

  private readonly claim = (market: Proposition): Payload => {
    const { winner } = market.outcome ?? {}
    const key = this.markets.names(market).ticker
    const { phase } = market
    return { kind: 'market', key, phase, ...(winner === undefined ? {} : { winner }) }
  }

  private shown(market: Proposition, depth: number): Payload {
    const { bids, asks } = market.book
    const cut = { bids: bids.slice(0, depth), asks: asks.slice(0, depth) }
    const { ticker: key } = this.markets.names(market)
    return { kind: 'full', key, book: depth > 0 ? cut : market.book }
  }
}

const CUTOFF_MS = 90 * 86_400_000

function good(value: unknown, payloads: readonly Payload[] = []): UpstreamAnswer {
  return { status: 200, body: JSON.stringify(value), cost: COST, payloads }
}

function error(status: number, code: string, message: string): UpstreamAnswer {
  const body = JSON.stringify({ error: { code, message, service: 'emulator' } })
  return { status, body, cost: COST }
}

function missing(what: string): UpstreamAnswer {
  return error(404, 'not_found', `${what} not found`)
}

function bad(parameter: string): UpstreamAnswer {
  return error(400, 'bad_request', `invalid ${parameter}`)
}

/** The venue's filter values, which differ from its status values. */
const FILTERS: Readonly<Record<string, readonly Phase[]>> = {
  unopened: ['listed'],
  open: ['open'],
  paused: ['paused'],
  closed: ['closed', 'determined', 'disputed'],
  settled: ['resolved'],
}

/** Markets that pass the filters of /markets and /events, newest first; or the name of a bad filter. */
function selectMarkets(markets: Markets, query: URLSearchParams): readonly Proposition[] | string {
  const { names, times } = markets
  const status = query.get('status')
  const phases = status === null || status === '' ? undefined : FILTERS[status]
  if (status !== null && status !== '' && phases === undefined) return 'status'
  const tests: ((market: Proposition) => boolean)[] = []
  if (phases !== undefined) tests.push(({ phase }) => phases.includes(phase))
  const series = query.get('series_ticker')
  if (series !== null) tests.push((market) => names(market).series === series)
  const event = query.get('event_ticker')
  if (event !== null) tests.push((market) => names(market).event === event)
  const tickers = query.get('tickers')?.split(',')
  if (tickers !== undefined) tests.push((market) => tickers.includes(names(market).ticker))
  if (query.get('mve_filter') === 'only') return []
  for (const [name, timeOf] of [
    ['created', (market: Proposition) => market.listTime],
    ['close', (market: Proposition) => market.closeTime],
    ['settled', (market: Proposition) => times(market).get('resolved') ?? NaN],
    ['updated', (market: Proposition) => Math.max(market.listTime, ...times(market).values())],
  ] as const) {
    for (const bound of ['min', 'max'] as const) {
      const seconds = wholeOf(query, `${bound}_${name}_ts`)
      if (seconds === undefined) continue
      if (Number.isNaN(seconds)) return `${bound}_${name}_ts`
      tests.push((market) =>
        bound === 'min' ? timeOf(market) >= seconds * 1000 : timeOf(market) <= seconds * 1000,
      )
    }
  }
  return markets
    .all()
    .filter((market) => tests.every((test) => test(market)))
    .reverse()
}

/** One page; the cursor says where the next begins and is empty at the end. */
function selectPage<T>(
  rows: readonly T[],
  query: URLSearchParams,
  standard: number,
  most: number,
): { readonly rows: readonly T[]; readonly cursor: string } | string {
  const limit = wholeOf(query, 'limit') ?? standard
  if (!(limit >= 0 && limit <= most)) return 'limit'
  const cursor = query.get('cursor') ?? ''
  // The position counts from the end, so rows added in front between two pages do not shift it.
  const left = cursor === '' ? rows.length : Number(Buffer.from(cursor, 'base64url').toString())
  if (!Number.isInteger(left) || left < 0) return 'cursor'
  const start = Math.max(0, rows.length - left)
  const end = start + (limit === 0 ? standard : limit)
  const rest = rows.length - end
  return {
    rows: rows.slice(start, end),
    cursor: rest > 0 ? Buffer.from(String(rest)).toString('base64url') : '',
  }
}

/** A whole number of the query; NaN where it is not one. */
function wholeOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  return /^-?\d{1,12}$/.test(text) ? Number(text) : NaN
}
