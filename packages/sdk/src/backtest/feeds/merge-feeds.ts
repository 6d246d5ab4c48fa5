import { PriorbookError } from '../../domain/index.ts'
import type { ReplayBatch, ReplayEvent } from '../../replay/index.ts'
import type { DataEvent, DataFeed, DataRow } from './data-feed.ts'

/** Recorded events with the rows of feeds among them. */
export type FedBatch = Iterable<ReplayEvent | DataEvent>

/**
 * Merges rows of feeds into recorded events. A row comes after the events of its time and before the next
 * one. Of the rows before the first event only the last one of each feed is kept, and comes with that
 * event: it was known then. Rows after the last event come until `end`, where there is one.
 */
export async function* mergeFeeds(
  events: AsyncIterable<ReplayBatch> | Iterable<ReplayBatch>,
  feeds: readonly DataFeed[],
  end: number | undefined,
): AsyncGenerator<FedBatch> {
  const merger = new FeedMerger(feeds)
  await merger.load()
  for await (const batch of events) {
    const part = new FedPart(batch, merger)
    while (!part.isDone) {
      yield part.events()
      await merger.load()
    }
  }
  for (;;) {
    const rest = [...merger.rowsBefore(end ?? -Infinity)]
    if (rest.length === 0) return
    yield rest
    await merger.load()
  }
}

/** One batch of events, played in parts: a part ends where rows of a feed must be read first. */
class FedPart {
  isDone = false
  private readonly iterator: Iterator<ReplayEvent>
  private readonly merger: FeedMerger
  private waiting: ReplayEvent | undefined

  constructor(batch: ReplayBatch, merger: FeedMerger) {
    this.iterator = batch[Symbol.iterator]()
    this.merger = merger
  }

  *events(): Generator<ReplayEvent | DataEvent> {
    const { iterator, merger } = this
    for (;;) {
      if (this.waiting === undefined) {
        const step = iterator.next()
        if (step.done === true) {
          this.isDone = true
          return
        }
        this.waiting = step.value
      }
      const event = this.waiting
      yield* merger.rowsBefore(event.at)
      if (!merger.isReady) return
      this.waiting = undefined
      yield event
    }
  }
}

// Rows that are read at a time: reading is asynchronous, events are not.
const ROWS_AHEAD = 1024

class FeedMerger {
  private readonly lanes: readonly FeedLane[]
  private isStarted = false

  constructor(feeds: readonly DataFeed[]) {
    const names = new Set(feeds.map(({ name }) => name))
    if (names.size < feeds.length) {
      throw new PriorbookError('invalid_argument', 'two feeds have the same name')
    }
    // The names decide ties, not the order in which feeds were given.
    this.lanes = feeds
      .toSorted((left, right) => (left.name < right.name ? -1 : 1))
      .map((feed) => new FeedLane(feed))
  }

  /** False where rows must be read before the next event. */
  get isReady(): boolean {
    return this.lanes.every(({ isReady }) => isReady)
  }

  async load(): Promise<void> {
    for (const lane of this.lanes) await lane.load()
  }

  /** The rows before a time; it ends early where rows must be read first. */
  *rowsBefore(at: number): Generator<DataEvent> {
    if (!this.isStarted) {
      for (const lane of this.lanes) lane.skipTo(at)
      if (!this.isReady) return
      this.isStarted = true
      for (const lane of this.lanes) {
        const row = lane.skipped
        if (row !== undefined) yield { kind: 'data', at, feed: lane.name, row }
      }
    }
    while (this.isReady) {
      let first: FeedLane | undefined
      for (const lane of this.lanes) if (lane.at < (first?.at ?? at)) first = lane
      if (first === undefined) return
      const { at: then, name } = first
      yield { kind: 'data', at: then, feed: name, row: first.shift() }
    }
  }
}

class FeedLane {
  readonly name: string
  /** When the next row comes; Infinity at the end. */
  at = -Infinity
  isReady = false
  /** The last row before the first event. */
  skipped: DataRow | undefined
  private readonly delay: number
  private readonly iterator: AsyncIterator<DataRow> | Iterator<DataRow>
  private rows: DataRow[] = []
  private next = 0
  private read = 0
  private lastTime = -Infinity

  constructor({ name, rows, delay = 0 }: DataFeed) {
    if (!Number.isSafeInteger(delay) || delay < 0) {
      const detail = `the delay ${delay} of the feed ${name} is not a whole number of microseconds`
      throw new PriorbookError('invalid_config', detail)
    }
    this.name = name
    this.delay = delay
    this.iterator =
      Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]()
  }

  async load(): Promise<void> {
    if (this.isReady) return
    this.rows = []
    this.next = 0
    while (this.rows.length < ROWS_AHEAD) {
      const step = await this.iterator.next()
      if (step.done === true) break
      this.rows.push(this.check(step.value))
    }
    this.isReady = true
    this.at = this.rows.length === 0 ? Infinity : this.rows[0]!.time + this.delay
  }

  shift(): DataRow {
    const row = this.rows[this.next++]!
    if (this.next < this.rows.length) this.at = this.rows[this.next]!.time + this.delay
    else this.isReady = false
    return row
  }

  /** Drops the rows before a time but the last one. */
  skipTo(at: number): void {
    while (this.isReady && this.at < at) this.skipped = this.shift()
  }

  private check(row: DataRow): DataRow {
    this.read++
    const { time } = row
    if (Number.isSafeInteger(time) && time >= this.lastTime) {
      this.lastTime = time
      return Object.freeze({ time, values: Object.freeze({ ...row.values }) })
    }
    const detail = Number.isSafeInteger(time)
      ? `row ${this.read} of the feed ${this.name} is earlier than the row before it`
      : `row ${this.read} of the feed ${this.name} has no time in microseconds`
    throw new PriorbookError('invalid_argument', detail)
  }
}
