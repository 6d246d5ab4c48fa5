import type { Gap } from '@priorbook/sdk/domain'
import type { BookColumns, TradeColumns } from '@priorbook/sdk/tape'
import type { MarketState } from '../store/store.ts'

/** How the rows of a subscription are encoded; styles with equal names encode to equal bytes. */
export type LiveStyle = {
  readonly name: string
  readonly mode: 'full' | 'changes'
  /** Minimum milliseconds between two rows of an instrument; 0 sends every row. */
  readonly conflateMs: number
}

/** Why a reader got a fresh snapshot instead of every row. */
export type ResyncReason = 'slow_reader' | 'resume_too_old' | 'rebuilt'

/**
 * Encodes messages, ready to be sent to every reader of a style. Rows come as columns of one row; the
 * base of a whole book is the book after that row.
 */
export interface MessageEncoder<Style extends LiveStyle, Context> {
  snapshot(
    context: Context,
    style: Style,
    whole: BookColumns,
    sequence: number,
    previous: number | null,
  ): Uint8Array
  /** In mode `changes` the row contains the changed levels, otherwise the whole book. */
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
  market(style: Style, market: MarketState): Uint8Array
  resync(context: Context, after: number, reason: ResyncReason): Uint8Array
}
