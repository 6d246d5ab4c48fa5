import { mirror } from '../../core/books.ts'
import type {
  Payload,
  Proposition,
  UpstreamAnswer,
  UpstreamRequest,
  World,
} from '../../core/upstream.ts'
import type { CheckAuth } from './auth.ts'
import { priceText, toObjects } from './ladder.ts'
import type { Memory } from './memory.ts'
import { invalid, JSON_TYPE, missing } from './refusal.ts'
import type { Round, Rounds } from './rounds.ts'
import type { Topics } from './topic.ts'
import { textsOf } from './texts.ts'

/** The base path of the venue's routes. */
export const BASE = '/sapi/v1/w3w/wallet/prediction'

const MAX_FOUND = 50
const DEFAULT_FOUND = 20

/** The parts that the routes read from. */
export type RestParts = {
  readonly world: World
  readonly auth: CheckAuth
  readonly rounds: Rounds
  readonly topics: Topics
  readonly memory: Memory
}

/** Creates the request handler of the REST interface; every route requires key and signature. */
export function createRest(parts: RestParts): (request: UpstreamRequest) => UpstreamAnswer {
  const { world, auth } = parts
  const rest = new Rest(parts)
  const routes: Readonly<Record<string, (query: URLSearchParams) => UpstreamAnswer>> = {
    'category/list': () => rest.categories(),
    'market/list': (query) => rest.list(query),
    'market/search': (query) => rest.search(query),
    'market/detail': (query) => rest.detail(query),
    'order-book': (query) => rest.orderBook(query),
    'order-book/last-trade-price': (query) => rest.lastTradePrice(query),
  }
  return (request) => {
    const { method, path } = request
    const name = path.startsWith(`${BASE}/`) ? path.slice(BASE.length + 1) : ''
    const route = Object.hasOwn(routes, name) ? routes[name] : undefined
    if (route === undefined) return absent(404, 'Not Found', path, world.now('venuea'))
    if (method !== 'GET') return absent(405, 'Method Not Allowed', path, world.now('venuea'))
    return auth(request, 'as sent') ?? route(request.query)
  }
}

class Rest {
  private readonly rounds: Rounds
  private readonly topics: Topics
  private readonly memory: Memory

  constructor({ rounds, topics, memory }: RestParts) {
    this.rounds = rounds
    this.topics = topics
    this.memory = memory
  }

  categories(): UpstreamAnswer {
    const names = new Set(
      this.rounds.all().flatMap(({ proposition }) => proposition.topic?.category ?? []),
    )
    const others = [...names].filter((name) => categoryId(name) !== CRYPTO.id)
    const more = others.map((name, index) => ({
      id: categoryId(name),
      name,
      icon: 'topic_icon',
      order: index + 2,
      subcategories: [],
    }))
    return good({ categories: [CRYPTO, ...more] })
  }

  list(query: URLSearchParams): UpstreamAnswer {
    const page = selectTopics(this.rounds.all(), query)
    if (typeof page === 'string') return invalid(page)
    const { chosen, ...rest } = page
    return good(
      { marketTopics: chosen.map((round) => this.topics.listed(round)), ...rest },
      this.claims(chosen),
    )
  }

  search(query: URLSearchParams): UpstreamAnswer {
    const words = (query.get('query') ?? '').trim().toLowerCase()
    if (words === '') return missing('query')
    const count = wholeOf(query, 'topK') ?? DEFAULT_FOUND
    if (count < 1 || count > MAX_FOUND) return invalid('topK')
    const chosen = this.rounds
      .all()
      .filter(({ proposition }) => isFirst(proposition))
      .filter(({ proposition }) => searched(proposition).includes(words))
      .slice(-count)
      .reverse()
    const found = chosen.map((round) => this.topics.found(round))
    return good(found, this.claims(chosen))
  }

  detail(query: URLSearchParams): UpstreamAnswer {
    const topicId = wholeOf(query, 'marketTopicId')
    if (topicId === undefined) return missing('marketTopicId')
    const [round] = this.rounds.byTopic(topicId)
    if (round === undefined) return invalid('marketTopicId')
    return good(this.topics.detail(round), this.claims([round]))
  }

  orderBook(query: URLSearchParams): UpstreamAnswer {
    const vendor = query.get('vendor')
    if (vendor === null) return missing('vendor')
    if (vendor !== 'PREDICT_FUN') return invalid('vendor')
    const round = this.marketOf(query)
    if (!('proposition' in round)) return round
    const tokenId = query.get('tokenId')
    if (tokenId === null) return missing('tokenId')
    const index = round.tokens.indexOf(tokenId)
    if (index < 0) return invalid('tokenId')
    const { book } = round.proposition
    const own = index === 0 ? book : mirror(book)
    const answer = {
      outcome: textsOf(round.proposition).outcomes[index],
      tokenId,
      timestamp: this.memory.changedAt(round.proposition),
      bids: toObjects(own.bids),
      asks: toObjects(own.asks),
    }
    // Both tokens show the market's one ladder, which is kept in terms of Up.
    return good(answer, [{ kind: 'full', key: String(round.marketId), book }])
  }

  lastTradePrice(query: URLSearchParams): UpstreamAnswer {
    const round = this.marketOf(query)
    if (!('proposition' in round)) return round
    const { lastTrade } = round.proposition
    if (lastTrade === undefined) return good({ marketId: round.marketId, lastTradePrice: null })
    const value = priceText(lastTrade)
    const key = round.tokens[0]
    return good({ marketId: round.marketId, lastTradePrice: value }, [
      { kind: 'sample', key, metric: 'last_trade', value },
    ])
  }

  private marketOf(query: URLSearchParams): Round | UpstreamAnswer {
    const marketId = wholeOf(query, 'marketId')
    if (marketId === undefined) return missing('marketId')
    return this.rounds.byMarket(marketId) ?? invalid('marketId')
  }

  private claims(chosen: readonly Round[]): Payload[] {
    return chosen.flatMap((round) => this.topics.claims(round))
  }
}

const CRYPTO = {
  id: 'crypto',
  name: 'Crypto',
  icon: 'crypto_icon',
  order: 1,
  subcategories: [{ id: 'up-down', name: 'Up/Down', icon: 'updown_icon', order: 1 }],
} as const

function categoryId(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
}

/** True for the market that stands for its topic in lists. */
function isFirst({ topic, index }: Proposition): boolean {
  return topic === undefined || topic.markets[0]?.index === index
}

function good(value: object, payloads: readonly Payload[] = []): UpstreamAnswer {
  return { status: 200, body: JSON.stringify(value), headers: JSON_TYPE, payloads }
}

// Unknown routes are answered by the gateway in front of the venue, without code and msg.
function absent(status: number, error: string, path: string, timestamp: number): UpstreamAnswer {
  const body = JSON.stringify({ timestamp, status, error, path })
  return { status, body, headers: JSON_TYPE }
}

function searched(proposition: Proposition): string {
  const { title, slug, symbol, question } = textsOf(proposition)
  return [title, slug, symbol, question].join('\n').toLowerCase()
}

function wholeOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? ''
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

/** One page of the list of topics. */
type RoundPage = {
  readonly chosen: readonly Round[]
  readonly total: number
  readonly offset: number
  readonly limit: number
  readonly hasMore: boolean
}

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

/**
 * Answers a list query with a page, or with the name of the invalid parameter. The list omits
 * resolved rounds, which can only be found by their topic id.
 */
function selectTopics(rounds: readonly Round[], query: URLSearchParams): RoundPage | string {
  const offset = Number(query.get('offset') ?? 0)
  if (!Number.isSafeInteger(offset) || offset < 0) return 'offset'
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT)
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_LIMIT) return 'limit'
  const sortBy = query.get('sortBy') ?? 'RECOMMENDED'
  const rank = Object.hasOwn(RANKS, sortBy) ? RANKS[sortBy] : undefined
  if (rank === undefined) return 'sortBy'
  const orderBy = query.get('orderBy') ?? 'DESC'
  if (orderBy !== 'ASC' && orderBy !== 'DESC') return 'orderBy'
  const sign = orderBy === 'ASC' ? 1 : -1

  const [first, second] = [query.get('l1Category'), query.get('l2Category')]
  const all = rounds.filter(
    ({ proposition }) =>
      proposition.phase !== 'resolved' && isFirst(proposition) && isIn(proposition, first, second),
  )
  all.sort((a, b) => sign * (rank(a) - rank(b)) || a.topicId - b.topicId)
  const chosen = all.slice(offset, offset + limit)
  const hasMore = offset + chosen.length < all.length
  return { chosen, total: all.length, offset, limit, hasMore }
}

function isIn({ topic }: Proposition, first: string | null, second: string | null): boolean {
  const [own, below] =
    topic === undefined ? [CRYPTO.id, CRYPTO.subcategories[0].id] : [categoryId(topic.category)]
  return (first ?? own) === own && (second ?? below) === below
}

const RANKS: Readonly<Record<string, (round: Round) => number>> = {
  RECOMMENDED: ({ proposition }) => proposition.volume,
  VOLUME: ({ proposition }) => proposition.volume,
  PARTICIPANTS: ({ proposition }) => proposition.participants,
  CREATED_TIME: ({ proposition }) => proposition.listTime,
  END_DATE: ({ proposition }) => proposition.closeTime,
}
