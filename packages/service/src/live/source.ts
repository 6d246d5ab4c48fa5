import type { Gap, Instrument, MarketRecord, VenueId } from '@priorbook/sdk/domain'
import type { BookRun, TradeColumns } from '@priorbook/sdk/tape'

/** Identifies one instrument. */
export type LiveRef = { readonly venue: VenueId; readonly key: string }

/** One revision of a market record, with its number and the time it became known. */
export type LiveMarket = {
  readonly record: MarketRecord
  readonly knownAt: number
  readonly revision: number
}

/** What was committed since the last poll; with `missed`, there are changes that are not listed. */
export type LiveChanges = {
  readonly books: readonly Instrument[]
  readonly trades: readonly Instrument[]
  readonly markets: readonly { readonly venue: VenueId; readonly marketId: string }[]
  readonly gaps: readonly Gap[]
  readonly missed?: 'behind' | 'rebuilt'
}

/** The reading side of a store that the hub needs; it returns durable rows only. */
export interface LiveSource {
  follow(): Promise<{ take(): Promise<LiveChanges | undefined>; close(): void }>
  instrument(ref: LiveRef): Promise<
    | {
        readonly firstSequence: number
        readonly lastSequence: number
        readonly firstReceived: number
      }
    | undefined
  >
  latest(ref: LiveRef): Promise<BookRun | undefined>
  books(
    query: LiveRef & {
      readonly order: 'asc'
      readonly after: number
      readonly limit: number
      readonly numbers: boolean
    },
  ): Promise<{
    readonly runs: readonly BookRun[]
    readonly hasMore: boolean
    readonly corrupt: readonly Gap[]
  }>
  trades(
    query: LiveRef & {
      readonly order: 'asc' | 'desc'
      readonly after?: number
      readonly limit: number
    },
  ): Promise<{
    readonly rows: TradeColumns
    readonly ordinals: readonly number[]
    readonly hasMore: boolean
  }>
  gaps(query: {
    readonly venue: VenueId
    readonly key: string
    readonly open?: boolean
    readonly start?: number
  }): Promise<readonly Gap[]>
  market(venue: VenueId, marketId: string): Promise<LiveMarket | undefined>
  revisions(
    venue: VenueId,
    marketId: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly LiveMarket[]>
}
