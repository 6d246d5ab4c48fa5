import type { MarketRecord } from '@priorbook/sdk/domain'
import { FollowedMarkets, hasEnded, type FollowedMarket } from '../capture/followed-markets.ts'
import type { CatalogClient } from './pages.ts'
import { parseRoundSlug, printRoundSlug, windowSeconds } from './fields.ts'

/** A market that the connector follows. Times are wall-clock milliseconds. */
export type VenueCMarket = FollowedMarket & {
  openMs: number
  /** Infinity while it is not known. */
  closeMs: number
  slug: string | undefined
  /** True for a round, which ends by the clock; other markets trade until the venue closes them. */
  isRound: boolean
  /** Both tokens, or none while the venue has not published them. */
  tokens: readonly string[]
  /** True once Gamma described it: announcements of the socket lack most of a market. */
  isListed: boolean
  /** True once Gamma said how it ended. */
  isResolved: boolean
  /** True once CLOB or the socket named the winner. */
  hasWinner: boolean
}

/** The markets that are followed, from discovery to resolution. */
export class VenueCMarkets {
  readonly #markets = new FollowedMarkets<VenueCMarket>(createMarket)
  readonly #slugs = new Set<string>()
  readonly #isWanted: (record: MarketRecord) => boolean
  readonly #speed: number

  /** `isWanted` decides about new markets; `speed` is how much shorter rounds are than their names say. */
  constructor(isWanted: (record: MarketRecord) => boolean, speed: number) {
    this.#isWanted = isWanted
    this.#speed = speed
  }

  /** Applies a record to its market, which is followed from now on if it is wanted and has not ended. */
  update(record: MarketRecord): VenueCMarket | undefined {
    const isKnown = this.#markets.get(record.marketId) !== undefined
    const isFinal = record.resolution?.state === 'final'
    if (!isKnown && (isFinal || !this.#isWanted(record))) return undefined
    return this.#apply(record)
  }

  /** Follows a market of an earlier run, whether it is wanted or not. */
  resume(marketId: string, record: MarketRecord | undefined): void {
    if (record !== undefined) this.#apply({ ...record, marketId })
    // Its end is not known: polling for resolutions finds out.
    else this.#markets.follow(marketId, 0).closeMs = 0
  }

  get(marketId: string): VenueCMarket | undefined {
    return this.#markets.get(marketId)
  }

  hasSlug(slug: string): boolean {
    return this.#slugs.has(slug)
  }

  delete({ marketId, slug }: VenueCMarket): void {
    this.#markets.delete(marketId)
    if (slug !== undefined) this.#slugs.delete(slug)
  }

  [Symbol.iterator](): Iterator<VenueCMarket> {
    return this.#markets[Symbol.iterator]()
  }

  get size(): number {
    return this.#markets.size
  }

  #apply(record: MarketRecord): VenueCMarket {
    const market = this.#markets.update(record, 0)
    if (record.slug !== undefined) {
      market.slug = record.slug
      this.#slugs.add(record.slug)
    }
    if (record.window !== undefined) market.isRound = true
    const tokens = record.outcomes.flatMap(({ tokenId }) => tokenId ?? [])
    if (tokens.length > 1) market.tokens = tokens
    if (market.closeMs === Infinity) market.closeMs = this.#endOf(record)
    if ('gamma' in record.native) market.isListed = true
    if (record.resolution?.state === 'final') {
      market.hasWinner = true
      market.isResolved ||= 'gamma' in record.native
    }
    return market
  }

  // Announcements do not say when a round ends; its slug does.
  #endOf({ openTime, window = '' }: MarketRecord): number {
    const seconds = windowSeconds(window)
    if (openTime === undefined || seconds === undefined) return Infinity
    return openTime / 1000 + (seconds * 1000) / this.#speed
  }
}

function createMarket(marketId: string): VenueCMarket {
  return {
    marketId,
    slug: undefined,
    isRound: false,
    tokens: [],
    openMs: 0,
    closeMs: Infinity,
    status: undefined,
    isListed: false,
    isResolved: false,
    hasWinner: false,
  }
}

/** True while a market trades and its books are expected to change. */
export function isLive(market: VenueCMarket, wallMs: number): boolean {
  if (market.status === 'paused' || isOver(market)) return false
  return market.openMs <= wallMs && !isPastEnd(market, wallMs)
}

/** True when a round has ended; the end that the venue names for other markets is only expected. */
export function isPastEnd({ isRound, closeMs }: VenueCMarket, wallMs: number): boolean {
  // Of a market without a record only an end in the past is known.
  return (isRound || closeMs === 0) && closeMs <= wallMs
}

/** The market with its close where that is sure: another one trades past it, and its books may be given up later. */
export function withSureClose(market: VenueCMarket): FollowedMarket {
  const { marketId, openMs, closeMs, status, isRound } = market
  return isRound || closeMs === 0 ? market : { marketId, openMs, closeMs: undefined, status }
}

/** True when the venue says that a market does not trade any more. */
export function isOver(market: VenueCMarket): boolean {
  return market.isResolved || market.hasWinner || hasEnded(market)
}

/** Finds markets. */
export interface Discovery {
  /** Looks at everything that is open. */
  scan(signal: AbortSignal): Promise<void>
  /** Looks for what is new. */
  findNew(signal: AbortSignal): Promise<void>
  /** Requests markets again that trade or are about to. */
  refresh(signal: AbortSignal): Promise<void>
  /** How often everything was looked at. */
  readonly scans: number
  /** The time between two calls of `scan`. */
  readonly scanMs: number
}

/** Which rounds are looked for. */
export type RoundDiscoveryOptions = {
  readonly assets: readonly string[]
  readonly windows: readonly string[]
  /** How long before its start a round is looked for. */
  readonly aheadMs: number
  readonly speed: number
  readonly markets: VenueCMarkets
  readonly client: CatalogClient
  /** Our wall clock in milliseconds. */
  readonly now: () => number
}

const SCAN_MS = 60_000
const ROUNDS_AHEAD = 2
/** A round is requested again from this long before its start on, because tokens can come late. */
const SOON_MS = 120_000

/** Finds rounds before they start and keeps their records fresh while they trade. */
export class RoundDiscovery implements Discovery {
  readonly #options: RoundDiscoveryOptions
  /** Passes through Gamma's list so far. */
  scans = 0
  readonly scanMs: number

  constructor(options: RoundDiscoveryOptions) {
    this.#options = options
    this.scanMs = SCAN_MS / options.speed
  }

  /** Reads Gamma's list of the markets that end soon. */
  async scan(signal: AbortSignal): Promise<void> {
    const { assets, windows, aheadMs, markets, client, now } = this.#options
    if (windows.length === 0) {
      this.scans++
      return
    }
    const isCovered = createCoverage(assets, windows)
    const longestMs = Math.max(...windows.map((window) => (windowSeconds(window) ?? 0) * 1000))
    const fromMs = now()
    const listed = await client.endingBetween(fromMs, fromMs + aheadMs + longestMs, signal)
    const unknown = (listed ?? [])
      .filter(({ slug, conditionId }) => isCovered(slug) && markets.get(conditionId) === undefined)
      .map(({ conditionId }) => conditionId)
    if (unknown.length > 0) await client.byCondition([...new Set(unknown)], false, signal)
    this.scans++
  }

  /** Requests the rounds that must exist by the calendar and were not found yet. */
  async findNew(signal: AbortSignal): Promise<void> {
    const { assets, windows, speed, markets, client, now } = this.#options
    const nowSeconds = now() / 1000
    for (const window of windows) {
      // In an accelerated world rounds are shorter than their names say. Where they do not start at whole
      // seconds, their slugs cannot be guessed, and only the list finds them.
      const length = (windowSeconds(window) ?? NaN) / speed
      if (!Number.isInteger(length)) continue
      const current = Math.floor(nowSeconds / length) * length
      for (const asset of assets) {
        for (let ahead = 0; ahead <= ROUNDS_AHEAD; ahead++) {
          const slug = printRoundSlug(asset, window, current + ahead * length)
          if (!markets.hasSlug(slug)) await client.bySlug(slug, signal)
        }
      }
    }
  }

  /** Requests the markets again that trade or are about to: volume, liquidity, status, tokens. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { speed, markets, client, now } = this.#options
    const wallMs = now()
    const due = [...markets].filter((market) => isDue(market, wallMs, SOON_MS / speed))
    const ids = due.map(({ marketId }) => marketId)
    const named = await client.byCondition(ids, false, signal)
    // Gamma hides markets that closed before their time.
    const hidden = ids.filter((id) => !named.has(id))
    await client.byCondition(hidden, true, signal)
  }
}

/** Returns a function that tells whether a slug is that of a round of these assets and windows. */
function createCoverage(
  assets: readonly string[],
  windows: readonly string[],
): (slug: string) => boolean {
  return (slug) => {
    const round = parseRoundSlug(slug)
    return round !== undefined && assets.includes(round.asset) && windows.includes(round.window)
  }
}

function isDue(market: VenueCMarket, wallMs: number, soonMs: number): boolean {
  if (market.closeMs <= wallMs) return false
  if (!market.isListed || market.tokens.length === 0) return true
  return isLive(market, wallMs) || market.openMs - wallMs < soonMs
}
