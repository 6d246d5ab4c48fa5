import { isBackfillKey, REFERENCE_MARKET, type Gap, type Instrument } from '@priorbook/sdk/domain'
import type { ChunkKind } from '@priorbook/sdk/tape'
import type { Changes, Follower, MarketRef } from '../store.ts'
import type { Database } from './database.ts'
import { findGaps, type GapPlace } from './gaps.ts'
import type { LogListener } from './tail.ts'
import type { View } from './view.ts'

// Max gaps and markets that wait for a slow caller. Beyond it they are dropped and `behind` is reported.
const MOST_WAITING = 100_000

/** Follows the log of a view and collects changes until the caller polls them. */
export class LogFollower implements LogListener, Follower {
  private readonly view: View
  private readonly database: Database
  private readonly read: <T>(work: () => T) => Promise<T>
  private readonly books = new Set<number>()
  private readonly trades = new Set<number>()
  private readonly samples = new Set<number>()
  private readonly gaps = new Map<string, GapPlace>()
  private readonly markets = new Map<string, MarketRef>()
  private why: Changes['missed']

  /** `read` runs its work on the newest commit. */
  constructor(view: View, read: <T>(work: () => T) => Promise<T>) {
    this.view = view
    this.database = view.database
    this.read = read
    view.listeners.add(this)
  }

  async poll(): Promise<Changes | undefined> {
    if (this.isEmpty && !this.view.isBehind()) return undefined
    return this.read(() => (this.isEmpty ? undefined : this.drain()))
  }

  close(): void {
    this.view.listeners.delete(this)
  }

  row(kind: ChunkKind, stream: number): void {
    if (kind === 'book') this.books.add(stream)
    else if (kind === 'trade') this.trades.add(stream)
    else this.samples.add(stream)
  }

  gap(place: GapPlace): void {
    const { venue, key, start, afterSequence } = place
    this.gaps.set(`${venue}/${key}/${start}/${afterSequence}`, place)
    this.bound()
  }

  market(market: MarketRef): void {
    this.markets.set(`${market.venue}/${market.marketId}`, market)
    this.bound()
  }

  missed(why: NonNullable<Changes['missed']>): void {
    if (this.why !== 'rebuilt') this.why = why
  }

  private get isEmpty(): boolean {
    const { books, trades, samples, gaps, markets, why } = this
    return (
      why === undefined &&
      books.size === 0 &&
      trades.size === 0 &&
      samples.size === 0 &&
      gaps.size === 0 &&
      markets.size === 0
    )
  }

  private drain(): Changes | undefined {
    const gaps: Gap[] = []
    for (const place of this.gaps.values()) gaps.push(...findGaps(this.database, place))
    const references = this.toInstruments(this.samples).filter(
      ({ market }) => market === REFERENCE_MARKET,
    )
    const changes: Changes = {
      books: this.toInstruments(this.books),
      // Trades of a venue's history are not live, so subscribers do not get them.
      trades: this.toInstruments(this.trades).filter(({ key }) => !isBackfillKey(key)),
      markets: [...this.markets.values()],
      gaps,
      ...(references.length > 0 && { references }),
      ...(this.why === undefined ? {} : { missed: this.why }),
    }
    // Samples of markets have no subscribers.
    this.samples.clear()
    const hasNews = !this.isEmpty || references.length > 0
    this.forget()
    this.why = undefined
    return hasNews ? changes : undefined
  }

  private toInstruments(streams: ReadonlySet<number>): Instrument[] {
    const found: Instrument[] = []
    for (const id of streams) {
      const { venue, market, key } = this.view.streamById(id)
      found.push({ venue, market, key })
    }
    return found
  }

  private bound(): void {
    if (this.gaps.size + this.markets.size <= MOST_WAITING) return
    this.forget()
    this.missed('behind')
  }

  private forget(): void {
    this.books.clear()
    this.trades.clear()
    this.samples.clear()
    this.gaps.clear()
    this.markets.clear()
  }
}
