import type { Micros, VenueId } from '../domain/index.ts'

/** How long an order stays valid. FAK is another name for IOC. */
export const TIMES_IN_FORCE = ['GTC', 'GTD', 'IOC', 'FAK', 'FOK'] as const

/** One time in force. */
export type TimeInForce = (typeof TIMES_IN_FORCE)[number]

/**
 * An order as a strategy sends it. A price is a number of ten-thousandths (5200 means 0.52) or decimal
 * text ('0.52'); a size is a number of contracts or shares, as a number or decimal text.
 */
export type OrderRequest = {
  /** `venue:market id`, as every view names it. */
  readonly market: string
  /** The outcome by index or label; default: the first one (Yes, Up). */
  readonly outcome?: number | string
  readonly side: 'buy' | 'sell'
  /** Absent for a market order, which takes what the book shows and ends. */
  readonly price?: number | string
  readonly size?: number | string
  /** Money to spend instead of a size; only for market orders that buy. */
  readonly amount?: number | string
  /** Default: GTC with a price, IOC without. */
  readonly timeInForce?: TimeInForce
  /** When a GTD order expires. */
  readonly expires?: Micros | number
  /** Rejects the order if any part of it would take. */
  readonly postOnly?: boolean
  /** Sells no more than is held. */
  readonly reduceOnly?: boolean
  /** A label of the strategy's own, kept with the order. */
  readonly tag?: string
}

/** Why an order was rejected; each with the sentence that reports show. */
export const REJECT_REASONS = {
  invalid_order: 'Side, size, price, time in force or their combination is not valid.',
  invalid_price: 'The price is not between 0 and 1, or finer than prices of the venue.',
  invalid_size: 'The size is not a positive number of the units that the venue counts in.',
  invalid_amount: 'The amount is not a positive sum of money.',
  unknown_market: 'The market is not part of the run.',
  unknown_outcome: 'The market has no such outcome.',
  unknown_order: 'There is no such order, or it is no longer open.',
  rules_unknown:
    'Neither the record nor the prices seen by then prove that the market has this tick, and none was assumed.',
  market_not_open: 'The market had not opened.',
  market_paused: 'The market was paused.',
  market_closed: 'The market was closed.',
  no_book: 'No book of the market had been recorded yet.',
  in_gap: 'The market was not recorded at that time, so no order can be filled.',
  off_tick: 'The price is not on a tick of the market at that time.',
  below_minimum: 'The order is below the minimum of the venue.',
  size_step: 'The size has more decimals than the venue accepts.',
  insufficient_cash: 'The account does not hold enough cash.',
  insufficient_position: 'The account does not hold enough shares to sell.',
  reduce_only: 'There is no position to reduce.',
  would_take: 'The post-only order would have taken.',
  not_filled_whole: 'The fill-or-kill order could not be filled completely.',
  self_cross: 'The order would have traded with an order of the same account.',
  expired: 'The order had expired when it arrived.',
  position_limit: 'The order could take the position beyond the limit of the account.',
  loss_limit:
    'The account has lost as much as its limit allows: only reducing orders are accepted.',
  rate_limit: 'The account sent more requests within a second than its limit allows.',
  bracket_required:
    'The venue reports no trades, so the fill of a resting order is uncertain: run all queue models.',
} as const

/** The name of one reason. */
export type RejectReason = keyof typeof REJECT_REASONS

/** Why an order ended without being filled completely. */
export type EndReason =
  | RejectReason
  | 'cancelled'
  | 'replaced'
  | 'gap'
  | 'closed'
  | 'run_end'
  | 'ioc'

/** The state of an order. */
export type OrderState = 'sent' | 'resting' | 'filled' | 'cancelled' | 'expired' | 'rejected'

/** An order as strategies and reports see it: a frozen copy. */
export type OrderView = {
  readonly id: number
  readonly market: string
  readonly venue: VenueId
  readonly outcome: number
  readonly side: 'buy' | 'sell'
  /** Ten-thousandths; undefined for a market order. */
  readonly price: number | undefined
  /** Contracts or shares as decimal text. */
  readonly size: string
  readonly filled: string
  /** The money to spend, of an order that has an amount instead of a size. */
  readonly amount: string | undefined
  readonly state: OrderState
  readonly reason: EndReason | undefined
  readonly timeInForce: TimeInForce
  readonly sentAt: number
  readonly arrivedAt: number | undefined
  readonly tag: string | undefined
}

/** The evidence for a fill; each with the sentence that reports show. */
export const EVIDENCE = {
  book_cross: 'The recorded book showed the other side at the price.',
  print_at_level:
    'A recorded trade at the price reached the place in the queue that the model assumes.',
  print_through: 'A recorded trade went through the price.',
  snapshot_inferred: 'The difference of two recorded books allows a fill between them.',
} as const

/** A class of evidence. */
export type Evidence = keyof typeof EVIDENCE

/** All classes, in the order of the report. */
export const EVIDENCE_CLASSES = Object.keys(EVIDENCE) as Evidence[]

/** One fill, frozen. Sizes and money are exact decimal text. */
export type FillView = {
  readonly id: number
  readonly order: number
  readonly market: string
  readonly venue: VenueId
  readonly outcome: number
  readonly side: 'buy' | 'sell'
  readonly liquidity: 'taker' | 'maker'
  /** Ten-thousandths. */
  readonly price: number
  readonly size: string
  /** The value of the fee, in the venue's collateral. */
  readonly fee: string
  /** Shares that were not delivered because the fee was paid in shares. */
  readonly feeShares: string
  readonly at: number
  readonly evidence: Evidence
  /** Ids of the rows that are the evidence: of the book and, where there is one, of the trade. */
  readonly rows: readonly string[]
  /** Age of the book, in microseconds. */
  readonly bookAge: number
  readonly tag: string | undefined
}
