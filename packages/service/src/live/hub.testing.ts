import type { Gap, Instrument, Micros } from '@priorbook/sdk/domain'
import { BookColumns, type BookRun } from '@priorbook/sdk/tape'
import type { BookContext } from '@priorbook/sdk/wire'
import type { MarketState, StoreReader } from '../store/store.ts'
import { Subscriber, type Sink } from './subscriber.ts'
import type { LiveStyle, Subscription } from './subscription.ts'

/** The instrument that a growing source starts with. */
export const INSTRUMENT: Instrument = { venue: 'venueb', market: 'M', key: 'M' }

/** A store that a test appends to; all its instruments have the same rows. */
export class GrowingSource {
  readonly columns = new BookColumns(2)
  readonly instruments: Instrument[] = [INSTRUMENT]
  last = 0
  /** How long a read of books blocks the event loop. */
  busyMs = 0
  readonly gaps: Gap[] = []
  /** Keys of instruments whose reads fail. */
  readonly unreadable = new Set<string>()
  /** How many followers were opened; opening one ends `isBroken`. */
  followers = 0
  isBroken = false
  /** Reported with the next changes. */
  missed: 'rebuilt' | undefined
  areMarketsUnreadable = false
  isMarketChanged = false
  status = 'open'
  /** The number of the newest trade. */
  lastTrade = 0
  /** Called at the start of every read of books. */
  onReadBooks: () => void = () => undefined
  private revision = 1
  private isChanged = false

  grow(rows: number, isCommitted = true): void {
    for (let row = 0; row < rows; row++) {
      const number = ++this.last
      const flags = number === 1 ? 1 : 0
      const head = {
        received: number,
        source: number,
        venueSeq: number,
        channel: 0,
        journal: number,
      }
      this.columns.push({ ...head, flags }, [100], [100 + number])
    }
    if (isCommitted) this.isChanged = true
  }

  toSource(): StoreReader {
    const poll = async (): Promise<unknown> => {
      if (this.isBroken) throw new Error('the follower is broken')
      if (!this.isChanged) return undefined
      this.isChanged = false
      const { missed, isMarketChanged } = this
      this.missed = undefined
      if (isMarketChanged) this.revision++
      this.isMarketChanged = false
      return {
        books: this.instruments,
        trades: this.instruments,
        markets: isMarketChanged ? [{ venue: 'venueb', marketId: 'M' }] : [],
        gaps: this.gaps,
        missed,
      }
    }
    const follow = async (): Promise<unknown> => {
      this.followers++
      this.isBroken = false
      this.isChanged = false
      return { poll, close: () => undefined }
    }
    const readMarket = (): object => {
      if (this.areMarketsUnreadable) throw new Error('markets cannot be read')
      return { record: { status: this.status }, knownAt: 0, revision: this.revision }
    }
    const failIfUnreadable = (key: string): void => {
      if (!this.unreadable.has(key)) return
      throw new Error(`${key} cannot be read`)
    }
    const run = (from: number, to: number): BookRun => ({
      columns: this.columns,
      firstSequence: 1,
      from,
      to,
    })
    return {
      follow,
      instrument: async () => ({ firstSequence: 1, lastSequence: this.last, firstReceived: 1 }),
      latest: async ({ key }: { key: string }) => {
        failIfUnreadable(key)
        return run(this.last - 1, this.last)
      },
      books: async ({ key, after, limit }: { key: string; after: number; limit: number }) => {
        this.onReadBooks()
        failIfUnreadable(key)
        const until = performance.now() + this.busyMs
        while (performance.now() < until);
        const to = Math.min(this.last, after + limit)
        return { runs: to > after ? [run(after, to)] : [], hasMore: to < this.last, corrupt: [] }
      },
      trades: async ({ after = 0, order }: { after?: number; order: string }) => {
        const all = Array.from({ length: this.lastTrade - after }, (_, index) => after + 1 + index)
        return { rows: {}, ordinals: order === 'desc' ? all.slice(-1) : all, hasMore: false }
      },
      gaps: async ({ key }: { key: string }) => this.gaps.filter((gap) => gap.key === key),
      market: async () => readMarket(),
      revisions: async (_venue: unknown, _market: unknown, { after }: { after: number }) =>
        after < this.revision ? [readMarket()] : [],
    } as unknown as StoreReader
  }
}

const word = (text: string): Uint8Array => Buffer.from(`${text} `)

/** Encodes messages as words, and notes the last encoded book of every instrument. */
export class WordStyle implements LiveStyle {
  readonly name: string
  readonly mode: 'full' | 'changes'
  readonly conflateMs: number
  readonly lastBooks = new Map<string, number>()

  constructor(name: string, mode: 'full' | 'changes', conflateMs: number) {
    this.name = name
    this.mode = mode
    this.conflateMs = conflateMs
  }

  snapshot({ key }: BookContext, _whole: unknown, sequence: number): Uint8Array {
    return this.book('snapshot', key, sequence)
  }

  update({ key }: BookContext, _row: unknown, sequence: number): Uint8Array {
    return this.book('update', key, sequence)
  }

  trade(
    _context: unknown,
    _rows: unknown,
    _row: unknown,
    ordinal: number,
    previous: number | null,
  ): Uint8Array {
    return word(`trade-${ordinal}-after-${previous}`)
  }

  resync(_context: unknown, last: number): Uint8Array {
    return word(`resync-${last}`)
  }

  market({ revision }: MarketState): Uint8Array {
    return word(`market-${revision}`)
  }

  gap({ key, reason }: Gap): Uint8Array {
    return word(`${key}-${reason}`)
  }

  private book(type: string, key: string, sequence: number): Uint8Array {
    this.lastBooks.set(key, sequence)
    return word(`${type}-${sequence}`)
  }
}

/** A subscriber that reads at once, and the words that it got. */
export function createReader(): { readonly subscriber: Subscriber; readonly words: string[] } {
  const words: string[] = []
  const sink: Sink = {
    write: (bytes) => void words.push(...Buffer.from(bytes).toString().trim().split(' ')),
    cork: () => undefined,
    uncork: () => undefined,
    buffered: 0,
    left: 0,
  }
  return { subscriber: new Subscriber(sink, () => undefined), words }
}

/** A subscription to everything of one venue. */
export function createSubscription(subscriber: Subscriber, style: LiveStyle): Subscription {
  return {
    subscriber,
    venues: new Set(['venueb'] as const),
    style,
    datasets: new Set(['books', 'trades', 'markets']),
    since: 0,
    wants: () => true,
    admits: () => true,
    pending: new Set(),
    attached: new Set(),
  }
}

/** A gap of one microsecond in the first instrument. */
export function createGap(more: { readonly [Name in keyof Gap]?: Gap[Name] | undefined }): Gap {
  const [start, end] = [3 as Micros, 4 as Micros]
  const name = { venue: 'venueb', scope: 'instrument', key: 'M' } as const
  return { ...name, start, end, afterSequence: 0, reason: 'sequence_break', ...more } as Gap
}
