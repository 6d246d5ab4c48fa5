import type { BookCursor } from './book-cursor.ts'

/** How far a feed has published its instrument, as its channels see it. */
export type FeedPosition<Context> = {
  readonly cursor: BookCursor
  readonly lastTrade: number
  /** Facts of the instrument that every row carries. */
  readonly context: Context
  /** Wall-clock milliseconds, which divide time into conflation slots. */
  nowMs(): number
}
