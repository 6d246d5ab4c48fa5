import type { VenueId } from '../domain/index.ts'

/** What a fill rests on; each with the sentence that reports show. */
export const EVIDENCE = {
  book_cross: 'The recorded book showed the other side at the price.',
  print_at_level:
    'A recorded trade at the price reached the place in the queue that the model gives.',
  print_through: 'A recorded trade went through the price.',
  snapshot_inferred: 'Two recorded books differ so that a fill may lie between them.',
} as const

/** The class of evidence. */
export type Evidence = keyof typeof EVIDENCE

/** All classes, in the order of the report. */
export const EVIDENCE_CLASSES = Object.keys(EVIDENCE) as Evidence[]

/** One fill, frozen. Sizes and money are decimal text: they are exact. */
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
  /** The value of the fee, in the collateral of the venue. */
  readonly fee: string
  /** Shares not delivered as a fee (venue A). */
  readonly feeShares: string
  readonly at: number
  readonly evidence: Evidence
  /** The rows that prove it: of the book, and of the trade where there is one. */
  readonly rows: readonly string[]
  /** How old the book was, in microseconds. */
  readonly bookAge: number
  readonly tag: string | undefined
}
