import type { QuotaOptions } from '../capture/quota.ts'

/** What the connector of venue C is told. */
export type VenueCOptions = {
  /** Such as https://gamma-api.polymarket.com: the catalogue. */
  readonly gammaBase: string
  /** Such as https://clob.polymarket.com: books and winners. */
  readonly clobBase: string
  /** Such as wss://ws-subscriptions-clob.polymarket.com/ws/market. */
  readonly wsUrl: string
  /** Underlyings in capitals: `BTC`. */
  readonly assets: readonly string[]
  /** Lengths of rounds as slugs write them: `5m`. */
  readonly windows: readonly string[]
  /** The venue allows 300 lists of markets and 1,500 books in any 10 s. */
  readonly quotas: { readonly gamma: QuotaOptions; readonly clob: QuotaOptions }
  /** Above 500 the venue sends no first books; 200 is the usual safe number. */
  readonly assetsPerSocket: number
  /** How long before its start a round is subscribed; one hour by default. */
  readonly aheadMs?: number
  /** How much faster than in production periods run; limits of the network are never scaled. */
  readonly speed?: number
}

/** Subscribed this long before a round starts, where the options do not say. */
export const DEFAULT_AHEAD_MS = 3_600_000
