import type { Payload, UpstreamAnswer, UpstreamRequest, World } from '../../core/upstream.ts'
import { titleOf } from '../../world/round-texts.ts'
import { failed, good } from './answers.ts'
import type { Condition, Conditions, TokenPlace } from './conditions.ts'
import { toRestBook } from './frames.ts'
import { pricesOf, toNumber, winnerClaim, winnerOf, type Memory } from './memory.ts'
import type { ReadBooks } from './token-book.ts'
import { isClosed } from './gamma-market.ts'
import { descriptionOf, imageOf, isoTime, OUTCOMES } from './texts.ts'

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
}

/** Creates the request handler of the order-book service. */
export function createClob(parts: ClobParts): (request: UpstreamRequest) => UpstreamAnswer {
  const clob = new Clob(parts)
  return (request) => clob.answer(request)
}

class Clob {
  private readonly world: World
  private readonly conditions: Conditions
  private readonly memory: Memory
  private readonly readBooks: ReadBooks

  constructor({ world, conditions, memory, readBooks }: ClobParts) {
    this.world = world
    this.conditions = conditions
    this.memory = memory
    this.readBooks = readBooks
  }

  answer({ method, path, query, body }: UpstreamRequest): UpstreamAnswer {
    const [first, second, ...more] = path.slice(CLOB.length + 1).split('/')
    if (first === 'books' && second === undefined) {
      return method === 'POST'
        ? this.books(body)
        : failed(405, { error: 'Method not allowed' }, 'clob')
    }
    if (method !== 'GET') return failed(405, { error: 'Method not allowed' }, 'clob')
    if (second === undefined) {
      if (first === 'book') return this.book(query)
      if (first === 'markets') return this.markets(query)
      if (first === 'tick-size') return this.tickSize(query)
      if (first === 'time') return good(Math.floor(this.world.now('venuec') / 1000), 'clob')
    } else if (more.length === 0 && (first === 'markets' || first === 'clob-markets')) {
      const condition = this.market(second)
      if (condition === undefined) return failed(404, NO_MARKET, 'clob')
      if (first === 'clob-markets') return good(toCompactMarket(condition), 'clob')
      return good(toClobMarket(condition), 'clob', [clobClaimOf(condition)])
    }
    return failed(404, { error: 'not found' }, 'clob')
  }

  private place(token: string): TokenPlace | undefined {
    const found = this.conditions.byToken(token)
    return found !== undefined && this.memory.hasBook(found.condition.proposition)
      ? found
      : undefined
  }

  private bookOf({ condition, index }: TokenPlace): { body: object; payload: Payload } {
    const { book } = this.readBooks(condition)[index]
    const body = toRestBook(condition, index, this.readBooks, this.memory)
    const time = this.memory.changedAt(condition.proposition)
    return { body, payload: { kind: 'full', key: condition.tokens[index], book, time } }
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
    const tokens = parseTokens(text)
    if (tokens === undefined) return failed(400, { error: 'Invalid payload' }, 'books')
    const all = tokens
      .map((token) => this.place(token))
      .filter((found) => found !== undefined)
      .map((found) => this.bookOf(found))
    return good(
      all.map(({ body }) => body),
      'books',
      all.map(({ payload }) => payload),
    )
  }

  private markets(query: URLSearchParams): UpstreamAnswer {
    const cursor = query.get('next_cursor') ?? ''
    const offset = cursor === '' ? 0 : Number(Buffer.from(cursor, 'base64').toString('latin1'))
    if (!Number.isSafeInteger(offset) || offset < 0) {
      return failed(400, { error: 'Next item should be greater than or equal to 0' }, 'clob')
    }
    const known = this.conditions.all().filter(({ proposition }) => this.memory.traded(proposition))
    const page = known.slice(offset, offset + PAGE)
    const next = offset + page.length
    const answer = {
      data: page.map(toClobMarket),
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

  private tickSize(query: URLSearchParams): UpstreamAnswer {
    const found = this.place(query.get('token_id') ?? '')
    if (found === undefined) return failed(404, NO_MARKET, 'tick_size')
    const { tick } = found.condition.proposition
    return good({ minimum_tick_size: toNumber(tick, 4) }, 'tick_size')
  }
}

const NO_BOOK = { error: 'No orderbook exists for the requested token id' } as const
const NO_MARKET = { error: 'market not found' } as const

function parseTokens(text: string): string[] | undefined {
  let said: unknown
  try {
    said = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Array.isArray(said)) return undefined
  const tokens = said.map((one: unknown) =>
    typeof one === 'object' && one !== null && 'token_id' in one ? one.token_id : undefined,
  )
  return tokens.every((token) => typeof token === 'string') ? tokens : undefined
}

/** A market as the order books' own catalogue shows it. */
function toClobMarket({ proposition: of, ...names }: Condition): object {
  const closed = isClosed(of.phase)
  const prices = pricesOf(of)
  const winner = winnerOf(of)
  const image = imageOf(of.asset)
  return {
    enable_order_book: !closed,
    active: true,
    closed,
    archived: false,
    accepting_orders: of.phase === 'open',
    accepting_order_timestamp: of.phase === 'listed' ? null : isoTime(of.openTime),
    minimum_order_size: 5,
    minimum_tick_size: toNumber(of.tick, 4),
    condition_id: names.conditionId,
    question_id: names.questionId,
    question: titleOf(of),
    description: descriptionOf(of),
    market_slug: names.slug,
    end_date_iso: isoTime(of.closeTime),
    game_start_time: isoTime(of.openTime),
    seconds_delay: 0,
    fpmm: '',
    maker_base_fee: 1000,
    taker_base_fee: 1000,
    notifications_enabled: true,
    neg_risk: false,
    neg_risk_market_id: '',
    neg_risk_request_id: '',
    icon: image,
    image,
    rewards: { rates: null, min_size: 50, max_spread: 4.5 },
    is_50_50_outcome: false,
    tokens: ([0, 1] as const).map((index) => ({
      token_id: names.tokens[index],
      outcome: OUTCOMES[index],
      price: toNumber(prices[index], 4),
      winner: winner === index,
    })),
    tags: ['Crypto', 'Up or Down', of.window.toUpperCase()],
  }
}

/** The same in the short form with one-letter names. */
function toCompactMarket({ proposition: of, conditionId, tokens }: Condition): object {
  return {
    r: { mi: 50, ma: 4.5, moas: 30 },
    t: tokens.map((token, index) => ({ t: token, o: OUTCOMES[index] })),
    c: conditionId,
    mos: 5,
    mts: toNumber(of.tick, 4),
    mbf: 1000,
    tbf: 1000,
    ao: of.phase === 'open',
    ...(of.phase === 'listed' ? {} : { aot: isoTime(of.openTime) }),
    itode: true,
    fd: { r: 0.07, e: 1, to: true },
  }
}

/** The truth-log payload of the long form, which shows neither proposals nor disputes. */
function clobClaimOf({ proposition: of, conditionId }: Condition): Payload {
  const winner = winnerOf(of)
  const phase = isClosed(of.phase) && winner === undefined ? 'closed' : of.phase
  return { kind: 'market', key: conditionId, phase, ...winnerClaim(winner) }
}
