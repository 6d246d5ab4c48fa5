import type { Gap } from '@priorbook/sdk/domain'
import type { BookRun, SampleColumns, TradeColumns } from '@priorbook/sdk/tape'
import type { BookContext, SampleContext } from '@priorbook/sdk/wire'
import type { MarketState } from '../../store/store.ts'

/** A run of observations and the place of its instrument among the contexts of its market. */
export type BookPiece = BookRun & { readonly source: number }

/** One trade or sample: a row of shared columns, with its number and its place among the contexts. */
export type RowPlace<Columns> = {
  readonly columns: Columns
  readonly row: number
  readonly ordinal: number
  readonly source: number
}

/**
 * What a walk over a download meets, in the order of the file: a market, then its rows by received
 * time, with every gap before the first row after it.
 */
export type WalkItem =
  | { readonly kind: 'market'; readonly market: MarketState }
  | {
      readonly kind: 'book'
      readonly contexts: readonly BookContext[]
      readonly pieces: readonly BookPiece[]
    }
  | {
      readonly kind: 'trade'
      readonly contexts: readonly BookContext[]
      readonly rows: readonly RowPlace<TradeColumns>[]
    }
  | {
      readonly kind: 'sample'
      readonly contexts: readonly SampleContext[]
      readonly rows: readonly RowPlace<SampleColumns>[]
    }
  | { readonly kind: 'gap'; readonly gap: Gap }
