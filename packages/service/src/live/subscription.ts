import type { Gap, MarketRecord, VenueId } from '@priorbook/sdk/domain'
import type { BookColumns, TradeColumns } from '@priorbook/sdk/tape'
import type { BookContext } from '@priorbook/sdk/wire'
import type { MarketState } from '../store/store.ts'
import type { ResyncReason, Subscriber } from './subscriber.ts'

/** What a subscriber asked for in one request. */
export type Subscription = {
  readonly subscriber: Subscriber
  /** The venues whose gaps concern it; the hub adds that of a market that joins later. */
  readonly venues: Set<VenueId>
  readonly style: LiveStyle
  readonly datasets: ReadonlySet<'books' | 'trades' | 'markets'>
  /** Instruments whose first row is not older than this are sent from their first row; microseconds. */
  readonly since: number
  /** Whether a market belongs to the subscription, also one that appears later. */
  wants(record: MarketRecord): boolean
  /** Called before an instrument joins because of new rows; false when the client may not have it. */
  admits(instrument: string): boolean
  /** Called before an instrument of a market joins because of new rows. */
  onJoin?(record: MarketRecord): Promise<void>
  /** Called when the hub lets an instrument go, whose market has ended. */
  onRelease?(instrument: string): void
  /** Names of instruments that `Hub.start` is going to attach. */
  readonly pending: Set<string>
  /** Names of the attached instruments; maintained by the hub. */
  readonly attached: Set<string>
}

/**
 * Encodes the messages of a subscription; styles with equal names encode to equal bytes. Rows come as
 * columns of one row; the base of a whole book is the book after that row.
 */
export interface LiveStyle {
  readonly name: string
  readonly mode: 'full' | 'changes'
  /** Minimum milliseconds between two rows of an instrument; 0 sends every row. */
  readonly conflateMs: number
  snapshot(
    context: BookContext,
    whole: BookColumns,
    sequence: number,
    previous: number | null,
  ): Uint8Array
  /** In mode `changes` the row contains the changed levels, otherwise the whole book. */
  update(context: BookContext, row: BookColumns, sequence: number, previous: number): Uint8Array
  trade(
    context: BookContext,
    rows: TradeColumns,
    row: number,
    ordinal: number,
    previous: number | null,
  ): Uint8Array
  gap(gap: Gap): Uint8Array
  market(market: MarketState): Uint8Array
  resync(context: BookContext, after: number, reason: ResyncReason): Uint8Array
}

/** The last rows that a client has from an earlier connection, by instrument key. */
export type ResumePoints = {
  readonly books: ReadonlyMap<string, number>
  readonly trades: ReadonlyMap<string, number>
  /** When the history begins that the client may read: older rows are not sent again; microseconds. */
  readonly start: number
  /** Rows that may still be sent again, shared by all subscriptions of a connection. */
  readonly budget: { rows: number }
}
