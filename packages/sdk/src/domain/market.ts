import type { Micros } from './micros.ts'
import type { MarketStatus, RevisionAnomaly } from './status.ts'
import type { Units, VenueId } from './venues/index.ts'

/** The venue's id of the event that a market belongs to. */
export function eventIdOf(
  record: Pick<MarketRecord, 'eventTicker' | 'eventId' | 'topicId'>,
): string | undefined {
  return record.eventTicker ?? record.eventId ?? record.topicId
}

/** Any JSON value, for a venue's own records. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json }

/** One outcome of a market with the venue's own token. */
export type Outcome = {
  readonly label: string
  readonly index: number
  readonly tokenId?: string
  readonly externalId?: string
}

/** How a market was resolved, or how far its resolution has come; never inferred from prices. */
export type Resolution = {
  readonly state: 'none' | 'proposed' | 'disputed' | 'final'
  readonly source?: string
  readonly reference?: {
    readonly feed?: string
    readonly startPrice?: string
    readonly endPrice?: string
  }
  /** Payout per outcome as decimal text, in the order of `outcomes`. */
  readonly payouts?: readonly string[]
  readonly times?: { readonly determined?: Micros; readonly settled?: Micros }
}

/** How deep a market is recorded; each tier with the sentence that the docs show. */
export const TIER_TEXTS = {
  full: 'Books and trades, by socket where the venue has one.',
  polled: 'Books at an interval, as the quota allows.',
  catalogue: 'The record and the resolution only.',
  none: 'Nothing.',
} as const

/** The name of one tier. */
export type CaptureTier = keyof typeof TIER_TEXTS

/** The tiers, the deepest first. */
export const CAPTURE_TIERS = Object.keys(TIER_TEXTS) as readonly CaptureTier[]

/** How deep a market is recorded, and the reason in words. */
export type CaptureDecision = { readonly tier: CaptureTier; readonly why: string }

/**
 * What a market shares with the other markets of its event, such as an election with a market for each
 * candidate. The event's id is `eventTicker`, `eventId` or `topicId`, by the venue's name for it.
 */
export type MarketEvent = {
  readonly title?: string
  readonly slug?: string
  /** The name of this market among those of the event: a candidate, a range, a team. */
  readonly outcome?: string
  /** True where at most one market of the event can end with Yes. */
  readonly isExclusive?: boolean
  /** True where No of one market can be converted into Yes of all others. */
  readonly isNegRisk?: boolean
}

/**
 * A market as one venue describes it. Values that a venue gives as decimal text stay decimal text.
 * Fields of one venue only are absent for the others; every native identifier is kept.
 */
export type MarketRecord = {
  readonly venue: VenueId
  readonly marketId: string
  readonly title?: string
  readonly status?: MarketStatus
  readonly statusNative?: string
  readonly openTime?: Micros
  readonly closeTime?: Micros
  readonly resolvedTime?: Micros
  readonly createdTime?: Micros
  readonly resolution?: Resolution
  readonly winningOutcome?: string
  readonly volume?: string
  readonly liquidity?: string
  readonly participantCount?: number
  readonly outcomes: readonly Outcome[]
  readonly units: Units
  /** The group of the market, by the venue's name for it. */
  readonly topicId?: string
  readonly eventTicker?: string
  readonly eventId?: string
  readonly seriesTicker?: string
  readonly event?: MarketEvent
  /** The venue's own heading, such as `Politics`. */
  readonly category?: string
  /** The venue's own labels, in its order. */
  readonly tags?: readonly string[]
  readonly conditionId?: string
  readonly questionId?: string
  readonly question?: string
  readonly gammaMarketId?: string
  readonly slug?: string
  readonly asset?: string
  readonly window?: string
  /** The price of the underlying that decides the market, as decimal text. */
  readonly strike?: string
  readonly chain?: string
  readonly exchangeContract?: string
  /** What the venue says about the exchange contract of the market. */
  readonly exchange?: {
    readonly isNegRisk?: boolean
    readonly isYieldBearing?: boolean
    readonly resolverAddress?: string
  }
  /** The venue's settlement fields, separate from received and source times. */
  readonly settlement?: {
    readonly result?: string
    readonly value?: string
    readonly determinedTime?: Micros
    readonly settledTime?: Micros
    readonly expirationValue?: string
  }
  /** How deep it is recorded from this version on, and why; the recorder sets it. */
  readonly capture?: CaptureDecision
  /** The newest contradiction between two versions of the record; the recorder sets it. */
  readonly lastAnomaly?: RevisionAnomaly & { readonly received: Micros }
  /** The venue's own records, for everything beyond the fields above. */
  readonly native: { readonly [key: string]: Json }
}
