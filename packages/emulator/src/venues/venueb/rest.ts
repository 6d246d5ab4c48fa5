import type { Payload, Proposition, UpstreamAnswer, UpstreamRequest } from '../../core/upstream.ts'
import { TextCache } from '../../core/text-cache.ts'
import { bad, COST, error, good, goodText, missing } from './answers.ts'
import type { Archive } from './archive.ts'
import {
  archivedCandlestick,
  candlesticksOf,
  MAX_CANDLES,
  parseCandleQuery,
} from './candlesticks.ts'
import { selectMarkets, selectPage, wholeOf, type ListKind } from './market-query.ts'
import { ALL_ROUND_SERIES, type Markets } from './markets.ts'
import {
  eventMetadataObject,
  eventObject,
  marketObject,
  orderbookObject,
  roundSeriesObject,
  topicSeriesObject,
  tradeObject,
} from './objects.ts'
import { isSigned, type CheckSignature } from './signature.ts'
import type { Trades } from './trades.ts'
import type { NativeObject } from './values.ts'

/** The parts that the routes read from. */
export type RestParts = {
  readonly markets: Markets
  readonly trades: Trades
  readonly archive: Archive
  readonly check: CheckSignature
}

/** Max tokens per second in the basic tier. */
export const READ_TOKENS = 200
const WRITE_TOKENS = 100
const BASE = '/trade-api/v2'
const MAX_BATCH = 100

/** Creates the request handler of the REST interface. */
export function createRest(parts: RestParts): (request: UpstreamRequest) => UpstreamAnswer {
  const rest = new Rest(parts)
  return (request) => rest.answer(request)
}

type Handler = (request: UpstreamRequest) => UpstreamAnswer

class Rest {
  private readonly markets: Markets
  private readonly trades: Trades
  private readonly archive: Archive
  private readonly check: CheckSignature
  private readonly fixed: Readonly<Record<string, Handler>>

  constructor({ markets, trades, archive, check }: RestParts) {
    this.markets = markets
    this.trades = trades
    this.archive = archive
    this.check = check
    this.fixed = {
      series: (request) => this.listSeries(request),
      'series/fee_changes': () => good({ series_fee_change_arr: [] }),
      events: (request) => this.listEvents(request, 'events'),
      'events/fee_changes': () => good({ cursor: '', event_fee_changes: [] }),
      'events/multivariate': (request) => this.listEvents(request, 'combos'),
      markets: (request) => this.listMarkets(request),
      'markets/orderbooks': (request) => this.manyBooks(request),
      'markets/trades': (request) => this.listTrades(request, false),
      'markets/candlesticks': (request) => this.manyCandles(request),
      'exchange/status': () => good({ exchange_active: true, trading_active: true }),
      'exchange/schedule': () => good({ schedule: SCHEDULE }),
      'account/limits': (request) => check(request) ?? good(LIMITS),
      'historical/cutoff': () => archive.answerCutoff(),
      'historical/markets': (request) => this.listArchive(request),
      'historical/trades': (request) => this.listTrades(request, true),
    }
  }

  answer(request: UpstreamRequest): UpstreamAnswer {
    const { path, method } = request
    if (!path.startsWith(`${BASE}/`)) return missing('route')
    if (method !== 'GET') return error(405, 'method_not_allowed', 'method not allowed')
    const route = path.slice(BASE.length + 1)
    if (Object.hasOwn(this.fixed, route)) return this.fixed[route]!(request)
    const parts = route.split('/')
    const [collection, id = '', part] = parts
    if (parts.length === 2) {
      if (collection === 'series') return this.oneSeries(id)
      if (collection === 'events') return this.oneEvent(id, request)
      if (collection === 'markets') return this.oneMarket(id)
    } else if (parts.length === 3) {
      if (collection === 'markets' && part === 'orderbook') return this.oneBook(id, request)
      if (collection === 'events' && part === 'metadata') return this.eventMetadata(id)
      if (collection === 'historical' && id === 'markets') return this.oneArchived(part!)
    } else if (parts.length === 4 && collection === 'historical' && id === 'markets') {
      if (parts[3] === 'candlesticks') return this.archivedCandles(part!, request)
    } else if (parts.length === 5 && collection === 'series' && part === 'markets') {
      if (parts[4] === 'candlesticks') return this.oneCandles(id, parts[3]!, request)
    }
    return missing('route')
  }

  private find(ticker: string): Proposition | undefined {
    const market = this.markets.find(ticker)
    return market === undefined || this.archive.holds(market) ? undefined : market
  }

  private oneMarket(ticker: string): UpstreamAnswer {
    const market = this.find(ticker)
    return market === undefined
      ? missing('market')
      : good({ market: this.object(market) }, [this.claim(market)])
  }

  private listSeries({ query }: UpstreamRequest): UpstreamAnswer {
    const category = query.get('category')
    const tags = query.get('tags')?.split(',')
    const rounds = ALL_ROUND_SERIES.map(roundSeriesObject)
    const topics = [...this.markets.topicSeries().values()].map(topicSeriesObject)
    const series = [...rounds, ...topics].filter(
      (one) =>
        (category === null || one['category'] === category) &&
        (tags === undefined || (one['tags'] as string[]).some((tag) => tags.includes(tag))),
    )
    return good({ series })
  }

  private oneSeries(ticker: string): UpstreamAnswer {
    const round = ALL_ROUND_SERIES.find((series) => series.ticker === ticker)
    if (round !== undefined) return good({ series: roundSeriesObject(round) })
    const topic = this.markets.topicSeries().get(ticker)
    return topic === undefined ? missing('series') : good({ series: topicSeriesObject(topic) })
  }

  private listMarkets({ query }: UpstreamRequest): UpstreamAnswer {
    const chosen = selectMarkets(this.markets, query, 'markets', this.archive.isAtHand)
    if (typeof chosen === 'string') return bad(chosen)
    const page = selectPage(chosen, query, 100, 1000)
    if (typeof page === 'string') return bad(page)
    const { rows, cursor } = page
    const texts = rows.map(this.text).join(',')
    return goodText(`{"cursor":"${cursor}","markets":[${texts}]}`, rows.map(this.claim))
  }

  private listEvents({ query }: UpstreamRequest, kind: ListKind): UpstreamAnswer {
    const chosen = selectMarkets(this.markets, query, kind)
    if (typeof chosen === 'string') return bad(chosen)
    const events = new Map<string, Proposition[]>()
    for (const market of chosen) {
      const { event } = this.markets.names(market)
      const group = events.get(event)
      if (group === undefined) events.set(event, [market])
      else group.push(market)
    }
    const page = selectPage([...events.values()], query, 200, 200)
    if (typeof page === 'string') return bad(page)
    const nested = query.get('with_nested_markets') === 'true'
    const { isAtHand } = this.archive
    const texts = page.rows.map((group) => {
      const event = JSON.stringify(eventObject(group[0]!, this.markets.names(group[0]!)))
      if (!nested) return event
      const inside = group.filter(isAtHand).map(this.text).join(',')
      return `${event.slice(0, -1)},"markets":[${inside}]}`
    })
    const shown = nested ? page.rows.flat().filter(isAtHand).map(this.claim) : []
    const milestones = kind === 'events' ? ',"milestones":[]' : ''
    const body = `{"cursor":"${page.cursor}","events":[${texts.join(',')}]${milestones}}`
    return goodText(body, shown)
  }

  private oneEvent(ticker: string, { query }: UpstreamRequest): UpstreamAnswer {
    const group = this.markets.ofEvent(ticker)
    if (group.length === 0) return missing('event')
    const event = eventObject(group[0]!, this.markets.names(group[0]!))
    // An event stays when its markets go to the archive.
    const shownMarkets = group.filter(this.archive.isAtHand)
    const objects = shownMarkets.map(this.object)
    // The list beside the event is deprecated and always there, also when it is repeated inside.
    const isNested = query.get('with_nested_markets') === 'true'
    const shown = isNested ? { ...event, markets: objects } : event
    return good({ event: shown, markets: objects }, shownMarkets.map(this.claim))
  }

  private eventMetadata(ticker: string): UpstreamAnswer {
    const group = this.markets.ofEvent(ticker)
    if (group.length === 0) return missing('event')
    return good(eventMetadataObject(group.map((market) => this.markets.names(market).ticker)))
  }

  private oneCandles(series: string, ticker: string, { query }: UpstreamRequest): UpstreamAnswer {
    const market = this.find(ticker)
    if (market === undefined || this.markets.names(market).series !== series) {
      return missing('market')
    }
    const range = parseCandleQuery(query)
    if (typeof range === 'string') return bad(range)
    const trades = this.trades.list(ticker)
    return good({ candlesticks: candlesticksOf(market, trades, range), ticker })
  }

  private manyCandles({ query }: UpstreamRequest): UpstreamAnswer {
    const tickers = query.get('market_tickers')?.split(',') ?? []
    if (tickers.length === 0 || tickers.length > MAX_BATCH) return bad('market_tickers')
    const range = parseCandleQuery(query)
    if (typeof range === 'string') return bad(range)
    const { fromMs, toMs, periodMs } = range
    if ((tickers.length * (toMs - fromMs)) / periodMs > MAX_CANDLES) return bad('end_ts')
    const markets = tickers.flatMap((ticker) => {
      const market = this.find(ticker)
      if (market === undefined) return []
      const trades = this.trades.list(ticker)
      const candlesticks = candlesticksOf(market, trades, range)
      return [{ candlesticks, market_ticker: ticker }]
    })
    return { ...good({ markets }), cost: COST * tickers.length }
  }

  private oneBook(ticker: string, request: UpstreamRequest): UpstreamAnswer {
    const refused = isSigned(request) ? this.check(request) : undefined
    if (refused !== undefined) return refused
    const market = this.find(ticker)
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
    const found = tickers.flatMap((ticker) => this.find(ticker) ?? [])
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

  private listTrades({ query }: UpstreamRequest, isArchived: boolean): UpstreamAnswer {
    const ticker = query.get('ticker')
    const from = (wholeOf(query, 'min_ts') ?? 0) * 1000
    const to = (wholeOf(query, 'max_ts') ?? Infinity) * 1000
    const cutoff = this.archive.cutoff()
    const chosen = this.trades
      .list(ticker ?? undefined)
      .filter(({ at }) => at >= from && at <= to && at < cutoff === isArchived)
    const page = selectPage(chosen, query, 100, 1000)
    if (typeof page === 'string') return bad(page)
    const payloads = page.rows.map(({ id, ticker: key, price, size, taker }): Payload => {
      return { kind: 'trade', key, id, fill: { price, size, taker } }
    })
    return good({ cursor: page.cursor, trades: page.rows.map(tradeObject) }, payloads)
  }

  private listArchive(request: UpstreamRequest): UpstreamAnswer {
    const page = this.archive.select(request)
    if ('status' in page) return page
    const { rows, cursor } = page
    return goodText(
      `{"cursor":"${cursor}","markets":[${rows.map(this.text).join(',')}]}`,
      rows.map(this.claim),
    )
  }

  private findArchived(ticker: string): Proposition | undefined {
    const market = this.markets.find(ticker)
    return market !== undefined && this.archive.holds(market) ? market : undefined
  }

  private oneArchived(ticker: string): UpstreamAnswer {
    const market = this.findArchived(ticker)
    return market === undefined
      ? missing('market')
      : good({ market: this.object(market) }, [this.claim(market)])
  }

  private archivedCandles(ticker: string, { query }: UpstreamRequest): UpstreamAnswer {
    const market = this.findArchived(ticker)
    if (market === undefined) return missing('market')
    const range = parseCandleQuery(query)
    if (typeof range === 'string') return bad(range)
    const candles = candlesticksOf(market, this.trades.list(ticker), range)
    return good({ candlesticks: candles.map(archivedCandlestick), ticker })
  }

  private readonly object = (market: Proposition): NativeObject =>
    marketObject(
      market,
      this.markets.names(market),
      this.markets.times(market),
      this.markets.updatedAt(market),
    )

  private readonly texts = new TextCache<Proposition>((market) => this.object(market))

  private readonly text = (market: Proposition): string =>
    this.texts.read(market, this.markets.revision(market))

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

// Buckets of the basic tier hold the tokens of one second.
const LIMITS = {
  grants: [],
  read: { bucket_capacity: READ_TOKENS, refill_rate: READ_TOKENS },
  usage_tier: 'basic',
  write: { bucket_capacity: WRITE_TOKENS, refill_rate: WRITE_TOKENS },
}

const WEEKDAYS = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const

// The emulated exchange is open around the clock.
const SCHEDULE = {
  maintenance_windows: [],
  standard_hours: [
    {
      end_time: '2099-12-31T00:00:00Z',
      start_time: '2026-01-01T00:00:00Z',
      ...Object.fromEntries(
        WEEKDAYS.map((day) => [day, [{ close_time: '00:00', open_time: '00:00' }]]),
      ),
    },
  ],
}
