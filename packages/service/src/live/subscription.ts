import type { MarketRecord, VenueId } from '@priorbook/sdk/domain'
import type { LiveStyle } from './style.ts'
import type { Subscriber } from './subscriber.ts'
import type { Topic } from './topic.ts'

/** What one subscriber asked for in one request. */
export type Subscription<Style extends LiveStyle, Context> = {
  readonly subscriber: Subscriber
  readonly venue: VenueId
  readonly style: Style
  readonly datasets: ReadonlySet<'books' | 'trades' | 'markets'>
  /** From when on instruments are new to it, in microseconds. */
  readonly since: number
  /** True for markets that belong to it, also those that appear later. */
  wants(record: MarketRecord): boolean
  /** Asked before an instrument joins by itself; false: it is there, or there are too many. */
  admits(name: string): boolean
  /** Instruments that will join by `join`, and must not by themselves. */
  readonly pending: Set<string>
  readonly topics: Set<Topic<Style, Context>>
}
