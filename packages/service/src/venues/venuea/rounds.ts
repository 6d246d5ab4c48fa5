import { isLastStatus, type MarketRecord } from '@priorbook/sdk/domain'
import { createPeriods, type Periods } from './periods.ts'

/** A market that is followed from its discovery to its resolution. Times are wall clock milliseconds. */
export type FollowedMarket = {
  readonly marketId: string
  readonly topicId: string
  vendor: string
  asset: string | undefined
  window: string | undefined
  /** The token of outcome 0, whose book is kept. */
  tokenId: string | undefined
  openMs: number | undefined
  closeMs: number | undefined
  status: MarketRecord['status']
  /** When a book of it came last, by socket or request; at first, when it was found. */
  heardMs: number
  /** When its book was asked for last, and whether the answer is still to come. */
  askedMs: number
  isAsking: boolean
  tradeMs: number
  isAskingTrade: boolean
  /** Its book was closed: a full one is wanted before others. */
  isWanted: boolean
  /** Calls for a wanted book in a row: a book that is refused again and again must not take the quota. */
  haste: number
  /** Its silence has been noted and it has not been heard since. */
  isSilent: boolean
}

/** The details of one round, asked for by its topic. */
export type FollowedTopic = {
  readonly topicId: string
  readonly marketIds: Set<string>
  /** The end of its last market. */
  closeMs: number
  dueMs: number
  isAsking: boolean
  /** Polls since its close without a resolution, and when they began. */
  polls: number
  pollingSinceMs: number | undefined
}

/** Everything that the connector follows. */
export interface Rounds {
  readonly markets: ReadonlyMap<string, FollowedMarket>
  readonly topics: ReadonlyMap<string, FollowedTopic>
  /** Takes what a catalogue answer says; markets that have ended and are not followed stay so. */
  see(record: MarketRecord, nowMs: number): void
  /** A neighbour of a known round, by its topic; its details are asked for if it is not followed. */
  seeNeighbour(topicId: string, closeMs: number, nowMs: number): void
  /** The details of a topic were answered, or not: when to ask again. */
  answered(topicId: string, ok: boolean, nowMs: number): void
  /** Drops what nothing will be asked of any more. */
  prune(nowMs: number): void
  /** The book of the market was closed: a full one is wanted soon. */
  want(marketId: string, nowMs: number): void
  /** A book of the market came. */
  heard(marketId: string, nowMs: number): void
  isOpen(market: FollowedMarket, nowMs: number): boolean
  /** Open and inside its window, so that frames are expected. */
  isLive(market: FollowedMarket, nowMs: number): boolean
  /** How often a book of it is expected. */
  expectedMs(market: FollowedMarket, nowMs: number): number
}

/** What is followed, and how fast time runs. */
export type RoundsOptions = { readonly assets: readonly string[]; readonly speed: number }

/** Creates an empty collection. */
export function createRounds(options: RoundsOptions): Rounds {
  const periods = createPeriods(options.speed)
  const markets = new Map<string, FollowedMarket>()
  const topics = new Map<string, FollowedTopic>()

  function topicOf(topicId: string, closeMs: number, dueMs: number): FollowedTopic {
    const known = topics.get(topicId)
    if (known !== undefined) return known
    const topic = {
      topicId,
      marketIds: new Set<string>(),
      closeMs,
      dueMs,
      isAsking: false,
      polls: 0,
      pollingSinceMs: undefined,
    }
    topics.set(topicId, topic)
    return topic
  }

  function forget(topic: FollowedTopic): void {
    topics.delete(topic.topicId)
    for (const marketId of topic.marketIds) markets.delete(marketId)
  }

  const isEnded = ({ status }: Pick<FollowedMarket, 'status'>): boolean =>
    status !== undefined && isLastStatus(status)

  /** Of a topic without markets nothing is known but its id. */
  const marketsOf = (topic: FollowedTopic): FollowedMarket[] =>
    [...topic.marketIds].flatMap((marketId) => markets.get(marketId) ?? [])

  const rounds: Rounds = {
    markets,
    topics,
    see(record, nowMs) {
      const { marketId, topicId, asset, status } = record
      if (topicId === undefined) return
      const isNew = !markets.has(marketId)
      if (isNew && (isEnded({ status }) || !options.assets.includes(asset ?? ''))) return
      const market = markets.get(marketId) ?? createMarket(record, topicId, nowMs)
      market.vendor = vendorOf(record) ?? market.vendor
      market.asset = asset ?? market.asset
      market.window = record.window ?? market.window
      market.tokenId = record.outcomes.find(({ index }) => index === 0)?.tokenId ?? market.tokenId
      market.openMs = toMs(record.openTime) ?? market.openMs
      market.closeMs = toMs(record.closeTime) ?? market.closeMs
      market.status = status ?? market.status
      markets.set(marketId, market)
      const closeMs = market.closeMs ?? Infinity
      const topic = topicOf(topicId, closeMs, Infinity)
      topic.closeMs = topic.marketIds.size > 1 ? Math.max(topic.closeMs, closeMs) : closeMs
      topic.marketIds.add(marketId)
      if (isNew) topic.dueMs = Math.min(topic.dueMs, firstDetailMs(market, nowMs, periods))
      // The list shows it too: no need to ask for what has ended.
      if (marketsOf(topic).every(isEnded)) forget(topic)
    },
    seeNeighbour(topicId, closeMs, nowMs) {
      if (closeMs > nowMs && !topics.has(topicId)) topicOf(topicId, closeMs, nowMs)
    },
    answered(topicId, ok, nowMs) {
      const topic = topics.get(topicId)
      if (topic === undefined) return
      const own = marketsOf(topic)
      // A round of another asset, or one that has ended and was not followed.
      if (ok && own.length === 0) {
        topic.dueMs = Infinity
        return
      }
      if (nowMs < topic.closeMs) {
        const startMs = Math.min(Infinity, ...own.map((market) => market.openMs ?? -Infinity))
        const next = [startMs + periods.startPriceMs, topic.closeMs + periods.resolutionMs]
        topic.dueMs = ok ? next.find((ms) => ms > nowMs)! : nowMs + periods.retryMs
        return
      }
      topic.pollingSinceMs ??= nowMs
      const givesUp = nowMs - topic.pollingSinceMs > periods.giveUpMs
      topic.dueMs = givesUp ? Infinity : nowMs + periods.resolutionPollMs(topic.polls++)
    },
    prune(nowMs) {
      for (const topic of topics.values()) {
        const keptMs = topic.marketIds.size === 0 ? 0 : periods.giveUpMs
        if (topic.dueMs === Infinity && topic.closeMs + keptMs < nowMs) forget(topic)
      }
    },
    want(marketId, nowMs) {
      const market = markets.get(marketId)
      if (market === undefined) return
      market.isWanted = true
      if (nowMs - market.askedMs > rounds.expectedMs(market, nowMs)) market.haste = 0
    },
    heard(marketId, nowMs) {
      const market = markets.get(marketId)
      if (market === undefined) return
      market.heardMs = nowMs
      market.isWanted = false
      market.isSilent = false
    },
    isOpen({ status, openMs, closeMs }, nowMs) {
      if (closeMs !== undefined && nowMs >= closeMs) return false
      // A scheduled market opens by the clock; the catalogue says so later.
      if (status === 'scheduled') return openMs !== undefined && nowMs >= openMs
      return status === undefined || status === 'open' || status === 'paused'
    },
    isLive(market, nowMs) {
      return rounds.isOpen(market, nowMs) && nowMs >= (market.openMs ?? Infinity)
    },
    expectedMs(market, nowMs) {
      return rounds.isLive(market, nowMs) ? periods.liveBookMs : periods.listedBookMs
    },
  }
  return rounds
}

/** True for the markets that are recorded from listing to resolution before all others. */
export function isFirstChoice(market: FollowedMarket): boolean {
  return market.asset === 'BTC' && market.window === '15m'
}

const VENDOR = 'PREDICT_FUN'

function createMarket(record: MarketRecord, topicId: string, nowMs: number): FollowedMarket {
  return {
    marketId: record.marketId,
    topicId,
    vendor: VENDOR,
    asset: undefined,
    window: undefined,
    tokenId: undefined,
    openMs: undefined,
    closeMs: undefined,
    status: undefined,
    heardMs: nowMs,
    askedMs: -Infinity,
    isAsking: false,
    tradeMs: -Infinity,
    isAskingTrade: false,
    isWanted: true,
    haste: 0,
    isSilent: false,
  }
}

// Reference price and neighbours stand in the details only: of the first choice they are wanted at
// once, of the others when the round starts and the start price is known.
function firstDetailMs(market: FollowedMarket, nowMs: number, periods: Periods): number {
  const { openMs, closeMs } = market
  if (isFirstChoice(market) || openMs === undefined) return nowMs
  if (closeMs !== undefined && nowMs >= closeMs)
    return Math.max(nowMs, closeMs + periods.resolutionMs)
  return Math.max(nowMs, openMs + periods.startPriceMs)
}

function toMs(time: number | undefined): number | undefined {
  return time === undefined ? undefined : time / 1000
}

function vendorOf(record: MarketRecord): string | undefined {
  const { topic } = record.native
  if (typeof topic !== 'object' || topic === null || Array.isArray(topic)) return undefined
  const vendor = (topic as { readonly [key: string]: unknown })['vendor']
  return typeof vendor === 'string' && vendor !== '' ? vendor : undefined
}
