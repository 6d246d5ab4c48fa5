import type { MarketRecord, VenueId } from '@priorbook/sdk/domain'
import type { LiveStyle } from './encoder.ts'
import type { Subscriber } from './subscriber.ts'

/** What a subscriber asked for in one request. */
export type Subscription<Style extends LiveStyle> = {
  readonly subscriber: Subscriber
  readonly venue: VenueId
  readonly style: Style
  readonly datasets: ReadonlySet<'books' | 'trades' | 'markets'>
  /** Instruments whose first row is not older than this are sent from their first row; microseconds. */
  readonly since: number
  /** Whether a market belongs to the subscription, also one that appears later. */
  wants(record: MarketRecord): boolean
  /** Called before an instrument joins because of new rows; false when the client may not have it. */
  admits(instrument: string): boolean
  /** Names of instruments that `Hub.start` is going to attach. */
  readonly pending: Set<string>
  /** Names of the attached instruments; maintained by the hub. */
  readonly attached: Set<string>
}

/** The last rows that a client has from an earlier connection, by instrument key. */
export type ResumePoints = {
  readonly books: ReadonlyMap<string, number>
  readonly trades: ReadonlyMap<string, number>
  /** Rows that may still be sent again, shared by all subscriptions of a connection. */
  readonly budget: { rows: number }
}
