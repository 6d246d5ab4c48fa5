import type { MarketRecord, MarketStatus } from '@priorbook/sdk/domain'
import { windowSeconds } from './rounds.ts'

/** A market that the connector follows, as far as following it needs. Times are wall milliseconds. */
export type Followed = {
  readonly conditionId: string
  slug: string | undefined
  /** Both tokens, or none while the venue has not given them. */
  tokens: readonly string[]
  openMs: number
  closeMs: number
  status: MarketStatus | undefined
  /** Gamma told of it: announcements of the socket lack most of a market. */
  isListed: boolean
  /** Gamma said how it ended. */
  isResolved: boolean
  /** CLOB or the socket named the winner. */
  hasWinner: boolean
}

/** The markets that are followed, from discovery to resolution. */
export interface Roster {
  /** Takes what a record says; a market that is not followed yet is followed when it is wanted. */
  take(record: MarketRecord): Followed | undefined
  /** Follows a market of an earlier run, whatever it is about. */
  follow(conditionId: string, record: MarketRecord | undefined): void
  get(conditionId: string): Followed | undefined
  hasSlug(slug: string): boolean
  forget(market: Followed): void
  readonly all: Iterable<Followed>
  readonly size: number
}

/**
 * Creates an empty roster; `isWanted` says whether a market that is new is to be followed, `speed` how
 * much shorter rounds are than their names.
 */
export function createRoster(isWanted: (record: MarketRecord) => boolean, speed: number): Roster {
  const markets = new Map<string, Followed>()
  const slugs = new Set<string>()

  // Announcements do not say when a round ends; its slug does.
  function endOf({ openTime, window = '' }: MarketRecord): number {
    const seconds = windowSeconds(window)
    if (openTime === undefined || seconds === undefined) return Infinity
    return openTime / 1000 + (seconds * 1000) / speed
  }

  function update(market: Followed, record: MarketRecord): Followed {
    if (record.slug !== undefined) {
      market.slug = record.slug
      slugs.add(record.slug)
    }
    const tokens = record.outcomes.flatMap(({ tokenId }) => tokenId ?? [])
    if (tokens.length > 1) market.tokens = tokens
    if (record.openTime !== undefined) market.openMs = record.openTime / 1000
    if (record.closeTime !== undefined) market.closeMs = record.closeTime / 1000
    else if (market.closeMs === Infinity) market.closeMs = endOf(record)
    if (record.status !== undefined) market.status = record.status
    if ('gamma' in record.native) market.isListed = true
    if (record.resolution?.state === 'final') {
      market.hasWinner = true
      market.isResolved ||= 'gamma' in record.native
    }
    return market
  }

  function add(conditionId: string): Followed {
    const market: Followed = {
      conditionId,
      slug: undefined,
      tokens: [],
      openMs: 0,
      closeMs: Infinity,
      status: undefined,
      isListed: false,
      isResolved: false,
      hasWinner: false,
    }
    markets.set(conditionId, market)
    return market
  }

  return {
    take(record) {
      const known = markets.get(record.marketId)
      if (known !== undefined) return update(known, record)
      if (record.resolution?.state === 'final' || !isWanted(record)) return undefined
      return update(add(record.marketId), record)
    },
    follow(conditionId, record) {
      const market = markets.get(conditionId) ?? add(conditionId)
      if (record !== undefined) update(market, record)
      // Nothing is known of its end: the poll for resolutions finds out.
      else market.closeMs = 0
    },
    get: (conditionId) => markets.get(conditionId),
    hasSlug: (slug) => slugs.has(slug),
    forget(market) {
      markets.delete(market.conditionId)
      if (market.slug !== undefined) slugs.delete(market.slug)
    },
    get all() {
      return markets.values()
    },
    get size() {
      return markets.size
    },
  }
}

/** True while a market trades and its books are expected to move. */
export function isLive(market: Followed, wallMs: number): boolean {
  const { status } = market
  if (status === 'paused' || hasEnded(market)) return false
  return market.openMs <= wallMs && wallMs < market.closeMs
}

/** True when the venue says that a market trades no more. */
export function hasEnded({ status, isResolved, hasWinner }: Followed): boolean {
  if (isResolved || hasWinner) return true
  return status !== undefined && status !== 'scheduled' && status !== 'open' && status !== 'paused'
}
