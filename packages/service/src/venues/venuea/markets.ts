import { isLastStatus, toMicros, type Json, type MarketRecord } from '@priorbook/sdk/domain'
import type { Arrival, Normalized } from '../capture/contract.ts'
import { readObject } from '../capture/fields.ts'
import {
  FollowedMarkets,
  isPastClose,
  recordsOf,
  type FollowedMarket,
} from '../capture/followed-markets.ts'
import type { RestAnswer } from '../capture/rest.ts'
import { attempt } from './attempt.ts'
import { normalizeTopic } from './catalog.ts'
import { readCategories, TopicList } from './lists.ts'
import { readPage, readTimeline } from './rest.ts'
import { ROUNDS } from './topic-filter.ts'
import { createPeriods, type Periods } from './periods.ts'

/** A market of venue A, with the state of its book. */
export type VenueAMarket = FollowedMarket & {
  vendor: string
  topicId: string
  asset: string | undefined
  window: string | undefined
  /** The token of outcome 0, whose book is kept. */
  tokenId: string | undefined
  /** When its last book came, by socket or request; at first, when the market was found. */
  bookMs: number
  /** When its book was last requested, and whether that request is in flight. */
  requestedMs: number
  isRequested: boolean
  /** When its last trade was last requested, and whether that request is in flight. */
  tradeMs: number
  isTradeRequested: boolean
  /** Its book is closed: a full one has priority. */
  needsBook: boolean
  /** Requests in a row for a closed book: a book that stays closed must not use up the quota. */
  recoveryCalls: number
  /** Its silence is noted, and no book came since. */
  isSilent: boolean
}

/** One round, whose details are requested by its topic. */
export type FollowedTopic = {
  readonly topicId: string
  readonly marketIds: Set<string>
  /** The end of its last market. */
  closeMs: number
  dueMs: number
  isRequested: boolean
  /** Under which it is listed; absent for rounds. */
  category: string | undefined
  /** Polls since its close without a resolution, and when they began. */
  polls: number
  pollingSinceMs: number | undefined
}

/** What is followed, and how many times faster than life time runs. */
export type VenueAMarketsOptions = {
  /** Whether a market that is not followed yet should be. */
  readonly isWanted: (record: MarketRecord) => boolean
  readonly speed: number
  /** Nothing more will happen to these markets. */
  readonly onEnded?: (marketIds: Iterable<string>) => void
}

const VENDOR = 'PREDICT_FUN'

/** The markets and rounds that the connector follows. Times are wall-clock milliseconds of the caller. */
export class VenueAMarkets {
  readonly topics = new Map<string, FollowedTopic>()
  readonly #markets = new FollowedMarkets<VenueAMarket>(createMarket)
  readonly #options: VenueAMarketsOptions
  readonly #periods: Periods

  constructor(options: VenueAMarketsOptions) {
    this.#options = options
    this.#periods = createPeriods(options.speed)
  }

  [Symbol.iterator](): Iterator<VenueAMarket> {
    return this.#markets[Symbol.iterator]()
  }

  get size(): number {
    return this.#markets.size
  }

  get(marketId: string): VenueAMarket | undefined {
    return this.#markets.get(marketId)
  }

  /** Applies a record of the catalogue. A market that has ended is not followed newly. */
  update(record: MarketRecord, nowMs: number): void {
    const { marketId, topicId, asset, status } = record
    if (topicId === undefined) return
    const isNew = this.get(marketId) === undefined
    if (isNew && (isFinal({ status }) || !this.#options.isWanted(record))) return
    const market = this.#markets.update(record, nowMs)
    if (isNew) market.topicId = topicId
    market.vendor = vendorOf(record) ?? market.vendor
    market.asset = asset ?? market.asset
    market.window = record.window ?? market.window
    market.tokenId = record.outcomes.find(({ index }) => index === 0)?.tokenId ?? market.tokenId
    const closeMs = market.closeMs ?? Infinity
    const topic = this.#topicOf(topicId, closeMs, Infinity)
    topic.closeMs = topic.marketIds.size > 1 ? Math.max(topic.closeMs, closeMs) : closeMs
    topic.marketIds.add(marketId)
    topic.category = record.category ?? topic.category
    if (isNew) topic.dueMs = Math.min(topic.dueMs, firstDetailMs(market, nowMs, this.#periods))
    // The list shows ends too, so the details of a round that has ended need no request.
    if (this.#marketsOf(topic).every(isFinal)) this.#forget(topic)
  }

  /** A neighbour of a known round: its details are requested if it is not over. */
  addNeighbour(topicId: string, closeMs: number, nowMs: number): void {
    if (closeMs > nowMs) this.#topicOf(topicId, closeMs, nowMs)
  }

  /** The details of a round were answered or failed: plans the next request. */
  detailsAnswered(topicId: string, isReadable: boolean, nowMs: number): void {
    const topic = this.topics.get(topicId)
    if (topic === undefined) return
    const markets = this.#marketsOf(topic)
    // A topic that is not selected, or one that had ended before it was followed.
    if (isReadable && markets.length === 0) {
      topic.dueMs = Infinity
      return
    }
    const { startPriceMs, resolutionMs, retryMs, giveUpMs } = this.#periods
    if (nowMs < topic.closeMs) {
      const startMs = Math.min(Infinity, ...markets.map(({ openMs = -Infinity }) => openMs))
      const next = [startMs + startPriceMs, topic.closeMs + resolutionMs]
      topic.dueMs = isReadable ? next.find((ms) => ms > nowMs)! : nowMs + retryMs
      return
    }
    topic.pollingSinceMs ??= nowMs
    const givesUp = nowMs - topic.pollingSinceMs > giveUpMs
    topic.dueMs = givesUp ? Infinity : nowMs + this.#periods.resolutionPollMs(topic.polls++)
  }

  /** Drops rounds of which nothing will be requested any more. */
  prune(nowMs: number): void {
    for (const topic of this.topics.values()) {
      const keptMs = topic.marketIds.size === 0 ? 0 : this.#periods.giveUpMs
      if (topic.dueMs === Infinity && topic.closeMs + keptMs < nowMs) this.#forget(topic)
    }
  }

  /** The book of the market was closed: a full one is requested soon. */
  recover(marketId: string, nowMs: number): void {
    const market = this.get(marketId)
    if (market === undefined) return
    market.needsBook = true
    if (nowMs - market.requestedMs > this.expectedMs(market, nowMs)) market.recoveryCalls = 0
  }

  /** A book of the market came. */
  bookArrived(marketId: string, nowMs: number): void {
    const market = this.get(marketId)
    if (market === undefined) return
    market.bookMs = nowMs
    market.needsBook = false
    market.isSilent = false
  }

  isOpen(market: VenueAMarket, nowMs: number): boolean {
    const { status, openMs } = market
    if (isPastClose(market, nowMs)) return false
    // A scheduled market opens by the clock; the catalogue shows that later.
    if (status === 'scheduled') return openMs !== undefined && nowMs >= openMs
    return status === undefined || status === 'open' || status === 'paused'
  }

  /** Returns true for a market that is open and inside its window, so that frames are expected. */
  isLive(market: VenueAMarket, nowMs: number): boolean {
    return this.isOpen(market, nowMs) && nowMs >= (market.openMs ?? Infinity)
  }

  /** How often a book of the market is expected. */
  expectedMs(market: VenueAMarket, nowMs: number): number {
    if (market.window === undefined) return this.#periods.quietBookMs
    return this.isLive(market, nowMs) ? this.#periods.liveBookMs : this.#periods.listedBookMs
  }

  #topicOf(topicId: string, closeMs: number, dueMs: number): FollowedTopic {
    const known = this.topics.get(topicId)
    if (known !== undefined) return known
    const topic = {
      topicId,
      marketIds: new Set<string>(),
      closeMs,
      dueMs,
      isRequested: false,
      category: undefined,
      polls: 0,
      pollingSinceMs: undefined,
    }
    this.topics.set(topicId, topic)
    return topic
  }

  #marketsOf(topic: FollowedTopic): VenueAMarket[] {
    return [...topic.marketIds].flatMap((marketId) => this.get(marketId) ?? [])
  }

  #forget(topic: FollowedTopic): void {
    this.topics.delete(topic.topicId)
    for (const marketId of topic.marketIds) this.#markets.delete(marketId)
    this.#options.onEnded?.(topic.marketIds)
  }
}

/** Returns true for the markets that are recorded with priority from listing to resolution. */
export function isPriority({ asset, window }: VenueAMarket): boolean {
  return asset === 'BTC' && window === '15m'
}

function createMarket(marketId: string, nowMs: number): VenueAMarket {
  return {
    marketId,
    topicId: '',
    vendor: VENDOR,
    asset: undefined,
    window: undefined,
    tokenId: undefined,
    openMs: undefined,
    closeMs: undefined,
    status: undefined,
    bookMs: nowMs,
    requestedMs: -Infinity,
    isRequested: false,
    tradeMs: -Infinity,
    isTradeRequested: false,
    needsBook: true,
    recoveryCalls: 0,
    isSilent: false,
  }
}

function isFinal({ status }: Pick<FollowedMarket, 'status'>): boolean {
  return status !== undefined && isLastStatus(status)
}

// Only the details contain the reference price and the neighbours. Priority markets need them at once,
// others when the round starts and the start price is known.
function firstDetailMs(market: VenueAMarket, nowMs: number, periods: Periods): number {
  const { openMs, closeMs } = market
  if (isPriority(market) || openMs === undefined) return nowMs
  if (closeMs !== undefined && nowMs >= closeMs) {
    return Math.max(nowMs, closeMs + periods.resolutionMs)
  }
  return Math.max(nowMs, openMs + periods.startPriceMs)
}

function vendorOf(record: MarketRecord): string | undefined {
  const { topic } = record.native
  if (typeof topic !== 'object' || topic === null || Array.isArray(topic)) return undefined
  const vendor = (topic as { readonly [key: string]: unknown })['vendor']
  return typeof vendor === 'string' && vendor !== '' ? vendor : undefined
}

/** Rounds that ended longer ago are left to the backfill. */
const PAST_MS = 900_000

/** Finds markets: by sweeps of lists, and by the neighbours that a topic's details name. */
export class Discovery {
  readonly #markets: VenueAMarkets
  readonly #speed: number
  readonly #periods: Periods
  #lists: readonly TopicList[]
  /** When the categories are requested; undefined where rounds alone are followed. */
  #categoriesMs: number | undefined
  #isRequested = false

  constructor(markets: VenueAMarkets, speed: number, isBroad = false) {
    this.#markets = markets
    this.#speed = speed
    this.#periods = createPeriods(speed)
    this.#lists = [new TopicList(ROUNDS, this.#periods)]
    this.#categoriesMs = isBroad ? 0 : undefined
  }

  /** When the next page is due; undefined while one is in flight. */
  get dueMs(): number | undefined {
    return this.#isRequested ? undefined : this.#next().dueMs
  }

  /** How many times all lists have been read. */
  get sweeps(): number {
    if (this.#categoriesMs === 0) return 0
    return Math.min(...this.#lists.map(({ sweeps }) => sweeps))
  }

  /** Starts the request of the next page of a list, or of the categories. */
  start(): TopicList | 'categories' {
    this.#isRequested = true
    return this.#next().list
  }

  /** Reads all lists from now on, or those of the rounds alone. */
  widen(isBroad: boolean): void {
    if (!isBroad) this.#lists = this.#lists.slice(0, 1)
    this.#categoriesMs = isBroad ? 0 : undefined
    for (const list of this.#lists) list.dueMs = 0
  }

  /** Applies the categories; true where they could be read. */
  applyCategories(answer: RestAnswer, nowMs: number): boolean {
    this.#isRequested = false
    const filters = answer.ok ? readCategories(answer.value) : undefined
    if (filters === undefined) {
      this.#categoriesMs = nowMs + this.#periods.retryMs
      return false
    }
    const [rounds, ...known] = this.#lists
    const others = filters.map(
      (filter) =>
        known.find((list) => list.filter.query['l1Category'] === filter.query['l1Category']) ??
        new TopicList(filter, this.#periods),
    )
    const crypto = filters.find(({ query }) => query['l1Category'] === ROUNDS.query['l1Category'])
    // Rounds are in the list of their category too, and a record must not lose it again.
    rounds!.category = crypto?.category
    this.#lists = [rounds!, ...others]
    this.#categoriesMs = nowMs + this.#periods.categoriesMs
    return true
  }

  /** Applies the answer to the request of a page; returns true where it could be read. */
  applyPage(list: TopicList, answer: RestAnswer, nowMs: number): boolean {
    this.#isRequested = false
    const page = answer.ok ? attempt(() => readPage(answer.value)) : undefined
    if (!answer.ok || page === undefined) {
      list.dueMs = nowMs + this.#periods.retryMs
      return false
    }
    this.#update(answer.reading, nowMs)
    list.add(page, nowMs - PAST_MS / this.#speed, nowMs)
    return true
  }

  #next(): { readonly dueMs: number; readonly list: TopicList | 'categories' } {
    const list = this.#lists.reduce((a, b) => (b.dueMs < a.dueMs ? b : a))
    const categoriesMs = this.#categoriesMs ?? Infinity
    if (categoriesMs <= list.dueMs) return { dueMs: categoriesMs, list: 'categories' }
    return { dueMs: list.dueMs, list }
  }

  /** Applies the answer to the request of a topic's details. */
  applyDetails(topicId: string, answer: RestAnswer, nowMs: number): void {
    const isReadable = answer.ok && answer.reading.error === undefined
    if (isReadable) {
      this.#update(answer.reading, nowMs)
      for (const round of readTimeline(answer.value)) {
        this.#markets.addNeighbour(round.topicId, round.endMs, nowMs)
      }
    }
    this.#markets.detailsAnswered(topicId, isReadable, nowMs)
  }

  /** Follows a market that an earlier run recorded, from the `native` of its record. */
  resume(native: Json, nowMs: number): void {
    const read = attempt(() => {
      const { topic, market } = readObject(native, 'native')
      return normalizeTopic({ ...readObject(topic, 'topic'), markets: [market] }, NOWHERE)
    })
    if (read !== undefined) this.#update(read, nowMs)
  }

  #update(read: Pick<Normalized, 'events'>, nowMs: number): void {
    for (const record of recordsOf(read)) this.#markets.update(record, nowMs)
  }
}

/** For records that only this process looks at. */
const NOWHERE: Arrival = { received: toMicros(0), journal: 0 }
