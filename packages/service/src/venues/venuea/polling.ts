import type { RestAnswer, RestCall } from '../capture/rest.ts'
import type { ScheduledCall, Shares } from '../capture/scheduler.ts'
import { bookDueMs } from './books.ts'
import {
  isPriority,
  type Discovery,
  type FollowedTopic,
  type VenueAMarket,
  type VenueAMarkets,
} from './markets.ts'
import { createPeriods, type Periods } from './periods.ts'
import { bookCall, categoriesCall, detailCall, lastTradeCall, listCall } from './rest.ts'

/** The kinds of calls that share the quota. */
export type CallKind = 'catalogue' | 'detail' | 'book' | 'trade'

/** Books have the largest share, because only they cannot be requested again later. */
export const SHARES: Shares<CallKind> = { book: 0.5, catalogue: 0.2, detail: 0.2, trade: 0.1 }

/** One call that the connector can make. */
type VenueACall =
  | { readonly kind: 'page' }
  | { readonly kind: 'detail'; readonly topic: FollowedTopic }
  | { readonly kind: 'book'; readonly market: VenueAMarket; readonly tokenId: string }
  | { readonly kind: 'last_trade'; readonly market: VenueAMarket; readonly tokenId: string }

/** A call with its place in the schedule. */
export type VenueAScheduledCall = ScheduledCall<VenueACall, CallKind>

/** What polling works with. */
export type PollingOptions = {
  readonly markets: VenueAMarkets
  readonly discovery: Discovery
  /** Whether books of a market are recorded; by default of all. */
  readonly hasBooks?: (marketId: string) => boolean
  readonly speed: number
  /** Wall-clock milliseconds. */
  readonly nowMs: () => number
  /** Sends a call and judges its answer for the connector's status. */
  readonly send: (call: RestCall, signal: AbortSignal) => Promise<RestAnswer>
  /** The catalogue was answered, but not readable. */
  readonly onUnreadable: (why: string) => void
  /** The socket should have brought this book: its subscription may be lost. */
  readonly onMissedBook: (marketId: string) => void
}

const PRIORITY_WEIGHT = 2

/** Lists the calls that are due now or later, makes them, and applies their answers. */
export class Polling {
  readonly #options: PollingOptions
  readonly #periods: Periods

  constructor(options: PollingOptions) {
    this.#options = options
    this.#periods = createPeriods(options.speed)
  }

  /** The next page of the catalogue; undefined while one is in flight. */
  page(): VenueAScheduledCall | undefined {
    const { dueMs } = this.#options.discovery
    if (dueMs === undefined) return undefined
    const everyMs = this.#periods.sweepMs
    return { ...PLAIN, kind: 'catalogue', dueMs, everyMs, call: { kind: 'page' } }
  }

  /** All calls of followed markets and rounds. */
  list(nowMs: number): VenueAScheduledCall[] {
    const { markets, hasBooks = () => true } = this.#options
    const calls: VenueAScheduledCall[] = []
    for (const market of markets) {
      const { tokenId } = market
      if (tokenId === undefined || !markets.isOpen(market, nowMs)) continue
      if (!hasBooks(market.marketId)) continue
      if (!market.isRequested) calls.push(this.#bookOf(market, tokenId, nowMs))
      if (!market.isTradeRequested) calls.push(this.#tradeOf(market, tokenId, nowMs))
    }
    for (const topic of markets.topics.values()) {
      if (topic.isRequested || topic.dueMs === Infinity) continue
      const everyMs = this.#periods.resolutionPollMs(topic.polls)
      const call = { kind: 'detail', topic } as const
      calls.push({ ...PLAIN, kind: 'detail', dueMs: topic.dueMs, everyMs, call })
    }
    return calls
  }

  /** Makes a call and applies its answer. */
  make({ call, urgent }: VenueAScheduledCall, signal: AbortSignal): Promise<void> {
    switch (call.kind) {
      case 'page':
        return this.#requestPage(signal)
      case 'detail':
        return this.#requestDetails(call.topic, signal)
      case 'book':
        return this.#requestBook(call.market, call.tokenId, urgent, signal)
      case 'last_trade':
        return this.#requestLastTrade(call.market, call.tokenId, signal)
    }
  }

  #bookOf(market: VenueAMarket, tokenId: string, nowMs: number): VenueAScheduledCall {
    const { markets } = this.#options
    const everyMs = markets.expectedMs(market, nowMs)
    return {
      kind: 'book',
      dueMs: bookDueMs(market, everyMs, this.#periods),
      everyMs,
      weight: isPriority(market) ? PRIORITY_WEIGHT : 1,
      // Only inside the window: a thousand closed books of listed markets would stop everything else.
      urgent: market.needsBook && markets.isLive(market, nowMs),
      call: { kind: 'book', market, tokenId },
    }
  }

  #tradeOf(market: VenueAMarket, tokenId: string, nowMs: number): VenueAScheduledCall {
    const { liveTradeMs, listedTradeMs } = this.#periods
    const everyMs = this.#options.markets.isLive(market, nowMs) ? liveTradeMs : listedTradeMs
    const dueMs = Math.max(0, market.tradeMs + everyMs)
    const call = { kind: 'last_trade', market, tokenId } as const
    return { ...PLAIN, kind: 'trade', dueMs, everyMs, call }
  }

  async #requestPage(signal: AbortSignal): Promise<void> {
    const { discovery, send, nowMs, onUnreadable } = this.#options
    const list = discovery.start()
    const isReadable =
      list === 'categories'
        ? discovery.applyCategories(await send(categoriesCall(), signal), nowMs())
        : discovery.applyPage(
            list,
            await send(listCall(list.offset, list.filter.query, list.category), signal),
            nowMs(),
          )
    if (!isReadable) onUnreadable('the catalogue could not be read')
  }

  async #requestDetails(topic: FollowedTopic, signal: AbortSignal): Promise<void> {
    const { discovery, send, nowMs } = this.#options
    topic.isRequested = true
    const answer = await send(detailCall(topic.topicId, topic.category), signal)
    topic.isRequested = false
    discovery.applyDetails(topic.topicId, answer, nowMs())
  }

  async #requestBook(
    market: VenueAMarket,
    tokenId: string,
    urgent: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { markets, send, nowMs, onMissedBook } = this.#options
    const { marketId } = market
    const isQuiet = !market.needsBook && markets.isLive(market, nowMs())
    market.recoveryCalls = market.needsBook ? market.recoveryCalls + 1 : 0
    market.isRequested = true
    const answer = await send(bookCall(market, tokenId, urgent), signal)
    market.isRequested = false
    // Counted from the answer, because the quota may have delayed the request.
    market.requestedMs = nowMs()
    if (isQuiet) onMissedBook(marketId)
    // A malformed book goes to quarantine and does not count.
    if (answer.ok && answer.reading.error === undefined) markets.bookArrived(marketId, nowMs())
  }

  async #requestLastTrade(
    market: VenueAMarket,
    tokenId: string,
    signal: AbortSignal,
  ): Promise<void> {
    market.isTradeRequested = true
    await this.#options.send(lastTradeCall(market.marketId, tokenId), signal)
    market.isTradeRequested = false
    market.tradeMs = this.#options.nowMs()
  }
}

const PLAIN = { weight: 1, urgent: false } as const
