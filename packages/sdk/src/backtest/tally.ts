import type { RejectReason } from './order.ts'

/** Horizons of markouts in microseconds: one, ten and sixty seconds. */
export const MARKOUTS = [1_000_000, 10_000_000, 60_000_000] as const

/** How the mid moved after fills, weighed by shares; positive is good for the account. */
export type Markout = { fills: number; missing: number; shares: number; gain: number }

/** What is counted during a run; floats are statistics, never money. */
export type Tally = {
  sent: number
  arrived: number
  rejected: number
  readonly reasons: Partial<Record<RejectReason, number>>
  cancelled: number
  expired: number
  /** Orders with at least one fill, and those filled whole. */
  touched: number
  whole: number
  takerFills: number
  makerFills: number
  /** Shares of orders that arrived, and those filled. */
  wanted: number
  got: number
  /** Money units traded. */
  volume: number
  takerShares: number
  /** Shares × ticks paid beyond the best price and beyond the mid of when the order was sent. */
  slipTouch: number
  slipMid: number
  slipMidShares: number
  bookAge: number
  bookAgeMost: number
  mergedUnits: number
  readonly markouts: { readonly taker: Markout[]; readonly maker: Markout[] }
  gapCancels: number
  gapRejects: number
}

/** Starts with nothing. */
export function createTally(): Tally {
  const markouts = (): Markout[] =>
    MARKOUTS.map(() => ({ fills: 0, missing: 0, shares: 0, gain: 0 }))
  return {
    sent: 0,
    arrived: 0,
    rejected: 0,
    reasons: {},
    cancelled: 0,
    expired: 0,
    touched: 0,
    whole: 0,
    takerFills: 0,
    makerFills: 0,
    wanted: 0,
    got: 0,
    volume: 0,
    takerShares: 0,
    slipTouch: 0,
    slipMid: 0,
    slipMidShares: 0,
    bookAge: 0,
    bookAgeMost: 0,
    mergedUnits: 0,
    markouts: { taker: markouts(), maker: markouts() },
    gapCancels: 0,
    gapRejects: 0,
  }
}
