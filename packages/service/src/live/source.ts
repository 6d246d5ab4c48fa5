import type { Gap, Instrument, MarketRecord, VenueId } from '@priorbook/sdk/domain'
import type { BookRun, TradeColumns } from '@priorbook/sdk/tape'

/** Names one ladder stream. */
export type LiveRef = { readonly venue: VenueId; readonly key: string }

/** A market record, when it became known, and its number among the revisions. */
export type LiveMarket = {
  readonly record: MarketRecord
  readonly knownAt: number
  readonly revision: number
}

/** What was committed since the last look; with `missed`, more than is named. */
export type LiveChanges = {
  readonly books: readonly Instrument[]
  readonly trades: readonly Instrument[]
  readonly markets: readonly { readonly venue: VenueId; readonly marketId: string }[]
  readonly gaps: readonly Gap[]
  readonly missed?: 'behind' | 'rebuilt'
}

/** The rows that the hub hands on; every store is one. What it gives is durable. */
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
