import type { Payload, UpstreamAnswer, UpstreamRequest, World } from '../../core/upstream.ts'
import { failed, good } from './answers.ts'
import { clobClaimOf, toClobMarket, toCompactMarket, toSimplifiedMarket } from './clob-market.ts'
import type { Condition, Conditions, TokenPlace } from './conditions.ts'
import { baseFeeOf } from './fees.ts'
import { toNumber, type Memory } from './memory.ts'
import { parseHistoryRange, type PriceHistory } from './price-history.ts'
import {
  bestReader,
  lastTradeOf,
  midpointReader,
  parseSide,
  spreadReader,
  type Quote,
} from './quotes.ts'
import type { ReadBooks } from './token-book.ts'

/** The path of the order-book service; all of venue C's services share one server. */
export const CLOB = '/clob'

/** Rows per page of the catalogue. */
const PAGE = 100
/** The cursor after the last page: base64 of -1. */
const END = 'LTE='

/** The parts that the routes read from. */
export type ClobParts = {
  readonly world: World
  readonly conditions: Conditions
  readonly memory: Memory
  readonly readBooks: ReadBooks
  readonly history: PriceHistory
}

/** Creates the request handler of the order-book service. */
export function createClob(parts: ClobParts): (request: UpstreamRequest) => UpstreamAnswer {
  const clob = new Clob(parts)
  return (request) => clob.answer(request)
}

type Get = (query: URLSearchParams) => UpstreamAnswer
type Post = (body: string) => UpstreamAnswer

class Clob {
  private readonly world: World
  private readonly conditions: Conditions
  private readonly memory: Memory
  private readonly readBooks: ReadBooks
  private readonly history: PriceHistory
  private readonly gets: Readonly<Record<string, Get>>
  private readonly posts: Readonly<Record<string, Post>>

  constructor({ world, conditions, memory, readBooks, history }: ClobParts) {
    this.world = world
    this.conditions = conditions
    this.memory = memory
    this.readBooks = readBooks
    this.history = history
    const midpoint = midpointReader(readBooks)
    const spread = spreadReader(readBooks)
    this.gets = {
      '': () => good('OK', 'clob'),
      ok: () => good('OK', 'clob'),
      version: () => good({ version: 2 }, 'clob'),
      time: () => good(Math.floor(this.world.now('venuec') / 1000), 'clob'),
      book: (query) => this.book(query),
      markets: (query) => this.markets(query, isAny, toClobMarket),
      'simplified-markets': (query) => this.markets(query, isAny, toSimplifiedMarket),
      'sampling-markets': (query) => this.markets(query, isSampled, toClobMarket),
      'sampling-simplified-markets': (query) => this.markets(query, isSampled, toSimplifiedMarket),
      'tick-size': (query) => this.tickSize(query),
      'neg-risk': (query) =>
        this.ofToken(query, 'clob', ({ condition }) => ({
          neg_risk: condition.event.negRiskId !== undefined,
        })),
      'fee-rate': (query) =>
        this.ofToken(query, 'clob', ({ condition }) => ({
          base_fee: baseFeeOf(condition.proposition),
        })),
      midpoint: (query) => this.ofToken(query, 'midpoint', (place) => ({ mid: midpoint(place) })),
      spread: (query) => this.ofToken(query, 'midpoint', (place) => ({ spread: spread(place) })),
      price: (query) => this.price(query),
      'last-trade-price': (query) =>
        this.ofToken(query, 'price', (place) => lastTradeOf(place, this.memory)),
      'prices-history': (query) => this.pricesHistory(query),
    }
    this.posts = {
      books: (body) => this.books(body),
      midpoints: (body) => this.quotes(body, 'midpoint', midpoint),
      spreads: (body) => this.quotes(body, 'midpoint', spread),
      prices: (body) => this.prices(body),
      'last-trades-prices': (body) => this.lastTrades(body),
    }
  }

  answer({ method, path, query, body }: UpstreamRequest): UpstreamAnswer {
    const [first = '', second, ...more] = path.slice(CLOB.length + 1).split('/')
    const isPost = Object.hasOwn(this.posts, first) && second === undefined
    if ((isPost ? 'POST' : 'GET') !== method) {
      return failed(405, { error: 'Method not allowed' }, 'clob')
    }
    if (isPost) return this.posts[first]!(body)
    if (second === undefined && Object.hasOwn(this.gets, first)) return this.gets[first]!(query)
    if (second !== undefined && more.length === 0) {
      if (first === 'markets-by-token') return this.marketByToken(second)
      if (first === 'markets' || first === 'clob-markets') return this.oneMarket(first, second)
    }
    return failed(404, { error: 'not found' }, 'clob')
  }

  private oneMarket(form: 'markets' | 'clob-markets', conditionId: string): UpstreamAnswer {
    const condition = this.market(conditionId)
    if (condition === undefined) return failed(404, NO_MARKET, 'clob')
    if (form === 'clob-markets') return good(toCompactMarket(condition), 'clob')
    return good(toClobMarket(condition), 'clob', [clobClaimOf(condition)])
  }

  private marketByToken(token: string): UpstreamAnswer {
    const condition = this.conditions.byToken(token)?.condition
    if (condition === undefined || !this.memory.traded(condition.proposition)) {
      return failed(404, NO_MARKET, 'clob')
    }
    const { conditionId, tokens } = condition
    const [primary, secondary] = tokens
    return good(
      { condition_id: conditionId, primary_token_id: primary, secondary_token_id: secondary },
      'clob',
    )
  }

  private place(token: string): TokenPlace | undefined {
    const found = this.conditions.byToken(token)
    return found !== undefined && this.memory.hasBook(found.condition.proposition)
      ? found
      : undefined
  }

  private bookOf({ condition, index }: TokenPlace): { body: object; payload: Payload } {
    const token = this.readBooks(condition)[index]
    const time = this.memory.changedAt(condition.proposition)
    const payload = { kind: 'full', key: condition.tokens[index], book: token.book, time } as const
    return { body: token.summaryAt(time), payload }
  }

  private book(query: URLSearchParams): UpstreamAnswer {
    const token = query.get('token_id') ?? ''
    if (token === '') return failed(400, { error: 'Invalid token id' }, 'book')
    const found = this.place(token)
    if (found === undefined) return failed(404, NO_BOOK, 'book')
    const { body, payload } = this.bookOf(found)
    return good(body, 'book', [payload])
  }

  private books(text: string): UpstreamAnswer {
    const items = parseItems(text)
    if (items === undefined) return failed(400, INVALID, 'books')
    const all = items
      .map(({ token }) => this.place(token))
      .filter((found) => found !== undefined)
      .map((found) => this.bookOf(found))
    return good(
      all.map(({ body }) => body),
      'books',
      all.map(({ payload }) => payload),
    )
  }

  private markets(
    query: URLSearchParams,
    isShown: (condition: Condition) => boolean,
    show: (condition: Condition) => object,
  ): UpstreamAnswer {
    const cursor = query.get('next_cursor') ?? ''
    const offset = cursor === '' ? 0 : Number(Buffer.from(cursor, 'base64').toString('latin1'))
    if (!Number.isSafeInteger(offset) || offset < 0) {
      return failed(400, { error: 'Next item should be greater than or equal to 0' }, 'clob')
    }
    const known = this.conditions
      .all()
      .filter((condition) => this.memory.traded(condition.proposition) && isShown(condition))
    const page = known.slice(offset, offset + PAGE)
    const next = offset + page.length
    const answer = {
      data: page.map(show),
      next_cursor: next < known.length ? Buffer.from(String(next)).toString('base64') : END,
      limit: PAGE,
      count: page.length,
    }
    return good(answer, 'clob', page.map(clobClaimOf))
  }

  private market(conditionId: string): Condition | undefined {
    const condition = this.conditions.byCondition(conditionId)
    return condition !== undefined && this.memory.traded(condition.proposition)
      ? condition
      : undefined
  }

  private ofToken(
    query: URLSearchParams,
    bucket: string,
    tell: (place: TokenPlace) => object,
  ): UpstreamAnswer {
    const token = query.get('token_id') ?? ''
    if (token === '') return failed(400, { error: 'Invalid token id' }, bucket)
    const found = this.place(token)
    return found === undefined ? failed(404, NO_BOOK, bucket) : good(tell(found), bucket)
  }

  private tickSize(query: URLSearchParams): UpstreamAnswer {
    const found = this.place(query.get('token_id') ?? '')
    if (found === undefined) return failed(404, NO_MARKET, 'tick_size')
    const { tick } = found.condition.proposition
    return good({ minimum_tick_size: toNumber(tick, 4) }, 'tick_size')
  }

  private price(query: URLSearchParams): UpstreamAnswer {
    const side = parseSide(query.get('side'))
    if (side === undefined) return failed(400, { error: 'Invalid side' }, 'price')
    const best = bestReader(this.readBooks, side)
    return this.ofToken(query, 'price', (place) => ({ price: best(place) }))
  }

  /** The quotes of many tokens by token; unknown ones are left out. */
  private quotes(text: string, bucket: string, quote: Quote): UpstreamAnswer {
    const items = parseItems(text)
    if (items === undefined) return failed(400, INVALID, bucket)
    const found = items.flatMap(({ token }) => this.place(token) ?? [])
    const quotes = found.map((place) => [place.condition.tokens[place.index], quote(place)])
    return good(Object.fromEntries(quotes), bucket)
  }

  private prices(text: string): UpstreamAnswer {
    const items = parseItems(text)
    if (items === undefined) return failed(400, INVALID, 'price')
    const prices: Record<string, Record<string, string>> = {}
    for (const { token, side } of items) {
      if (side === undefined) return failed(400, { error: 'Invalid side' }, 'price')
      const place = this.place(token)
      if (place === undefined) continue
      prices[token] = { ...prices[token], [side]: bestReader(this.readBooks, side)(place) }
    }
    return good(prices, 'price')
  }

  private lastTrades(text: string): UpstreamAnswer {
    const items = parseItems(text)
    if (items === undefined) return failed(400, INVALID, 'price')
    const trades = items.flatMap(({ token }) => {
      const place = this.place(token)
      return place === undefined ? [] : [{ token_id: token, ...lastTradeOf(place, this.memory) }]
    })
    return good(trades, 'price')
  }

  private pricesHistory(query: URLSearchParams): UpstreamAnswer {
    const range = parseHistoryRange(query, this.world.now('venuec'))
    if (range === undefined) return failed(400, { error: 'Invalid time range' }, 'prices_history')
    const place = this.conditions.byToken(query.get('market') ?? '')
    const history = place === undefined ? [] : this.history.read(place, range)
    return good({ history }, 'prices_history')
  }
}

const NO_BOOK = { error: 'No orderbook exists for the requested token id' } as const
const NO_MARKET = { error: 'market not found' } as const
const INVALID = { error: 'Invalid payload' } as const

const isAny = (): boolean => true
/** Markets with rewards for resting orders: all that accept orders. */
const isSampled = ({ proposition }: Condition): boolean => proposition.phase === 'open'

type Item = { readonly token: string; readonly side: 'BUY' | 'SELL' | undefined }

function parseItems(text: string): readonly Item[] | undefined {
  let said: unknown
  try {
    said = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Array.isArray(said)) return undefined
  const items = said.flatMap((one: unknown): Item[] => {
    if (typeof one !== 'object' || one === null || !('token_id' in one)) return []
    const { token_id: token } = one
    const side = 'side' in one ? parseSide(one.side) : undefined
    return typeof token === 'string' ? [{ token, side }] : []
  })
  return items.length === said.length ? items : undefined
}
