import type { Micros, VenueId } from '../domain/index.ts'

/** How long an order lives. FAK is another word for IOC. */
export const TIMES_IN_FORCE = ['GTC', 'GTD', 'IOC', 'FAK', 'FOK'] as const

/** One of them. */
export type TimeInForce = (typeof TIMES_IN_FORCE)[number]

/**
 * What a strategy asks for. A price is a whole number of ten-thousandths (5200 is 0.52) or decimal text
 * ('0.52'); a size is a number of contracts or shares, a number or decimal text.
 */
export type OrderRequest = {
  /** `venue:market id`, as every view names it. */
  readonly market: string
  /** The outcome by index or label; the first one (Yes, Up) without. */
  readonly outcome?: number | string
  readonly side: 'buy' | 'sell'
  /** Absent: a market order, which takes what is there and is done. */
  readonly price?: number | string
  readonly size?: number | string
  /** Buy for so much money instead of a size; market orders only. */
  readonly amount?: number | string
  /** GTC with a price, IOC without. */
  readonly timeInForce?: TimeInForce
  /** When a GTD order ends. */
  readonly expires?: Micros | number
  /** Rejected if any of it would take. */
  readonly postOnly?: boolean
  /** Sells no more than is held. */
  readonly reduceOnly?: boolean
  /** The strategy's own word, kept with the order. */
  readonly tag?: string
}

/** Why an order was refused; each with the sentence that reports show. */
export const REJECT_REASONS = {
  invalid_order: 'The order does not say what it should: side, size, price or time in force.',
  invalid_price: 'The price is not a whole number of ten-thousandths between 0 and 1.',
  invalid_size: 'The size is not a positive number of the units that the venue counts in.',
  invalid_amount: 'The amount is not a positive sum of money.',
  unknown_market: 'The market is not part of the run.',
  unknown_outcome: 'The market has no such outcome.',
  unknown_order: 'There is no such order, or it is done.',
  rules_unknown: 'Tick and minimum size at that time are not known, and none were assumed.',
  market_not_open: 'The market had not opened.',
  market_paused: 'The market was paused.',
  market_closed: 'The market was closed.',
  no_book: 'No book of the market had been seen yet.',
  in_gap: 'The market was not observed at that time: nothing can be filled there.',
  off_tick: 'The price is not on a tick of the market at that time.',
  below_minimum: 'The order is smaller than the venue takes.',
  size_step: 'The size is finer than the venue takes.',
  insufficient_cash: 'The account does not hold enough cash.',
  insufficient_position: 'The account does not hold what it wants to sell.',
  reduce_only: 'There is nothing to reduce.',
  would_take: 'A post-only order would have taken.',
  not_filled_whole: 'A fill-or-kill order could not be filled whole.',
  self_cross: 'The order would have met an order of the same account.',
  expired: 'The time of the order was over on arrival.',
  bracket_required:
    'Without trades the fate of a resting order cannot be told: it needs a run with all queue models.',
} as const

/** The name of one reason. */
export type RejectReason = keyof typeof REJECT_REASONS

/** Why an order ended without being filled. */
export type EndReason =
  | RejectReason
  | 'cancelled'
  | 'replaced'
  | 'gap'
  | 'closed'
  | 'run_end'
  | 'ioc'

/** Where an order is in its life. */
export type OrderState = 'sent' | 'resting' | 'filled' | 'cancelled' | 'expired' | 'rejected'

/** An order as strategies and reports see it: a copy, not the engine's own. */
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
  readonly state: OrderState
  readonly reason: EndReason | undefined
  readonly timeInForce: TimeInForce
  readonly sentAt: number
  readonly arrivedAt: number | undefined
  readonly tag: string | undefined
}
