import type { Gap } from '@priorbook/sdk/domain'
import type { BookColumns, TradeColumns } from '@priorbook/sdk/tape'
import type { LiveMarket } from './source.ts'

/** How rows of a subscription are written; equal names mean equal text. */
export type LiveStyle = {
  readonly name: string
  readonly mode: 'full' | 'changes'
  /** At most one row of an instrument in so many milliseconds; 0 for every row. */
  readonly conflateMs: number
}

/** Why rows were left out for a reader. */
export type LeftOut = 'slow_reader' | 'resume_too_old' | 'rebuilt'

/**
 * Writes messages, ready to be sent. Rows come as columns of one row: for whole books their base is the
 * book that the row made. What is written once goes to everybody who shares the style.
 */
export interface LiveText<Style extends LiveStyle, Context> {
  snapshot(
    context: Context,
    style: Style,
    whole: BookColumns,
    sequence: number,
    previous: number | null,
  ): Uint8Array
  /** Of mode `changes` the row holds the changed levels, else the whole book. */
  update(
    context: Context,
    style: Style,
    row: BookColumns,
    sequence: number,
    previous: number,
  ): Uint8Array
  trade(
    context: Context,
    style: Style,
    rows: TradeColumns,
    row: number,
    ordinal: number,
    previous: number | null,
  ): Uint8Array
  gap(style: Style, gap: Gap): Uint8Array
  market(style: Style, market: LiveMarket): Uint8Array
  resync(context: Context, after: number, reason: LeftOut): Uint8Array
}
