import {
  instrumentName,
  isBackfillKey,
  parseReferenceKey,
  PriorbookError,
  type MarketRecord,
} from '../domain/index.ts'
import type { BookContext } from '../wire/index.ts'
import { notesOf, type Contents, type Span, type StreamContents } from './contents.ts'
import { ReplayError } from './error.ts'
import {
  compareText,
  contextOf,
  numberInstruments,
  type ReplayBatch,
  type ReplayEvent,
  type ReplayInstrument,
} from './event.ts'
import {
  BookLane,
  ListLane,
  ReferenceLane,
  SampleLane,
  TradeLane,
  type Lane,
  type LaneOptions,
} from './lane.ts'
import { Merger } from './merge.ts'
import { openSources } from './open-sources.ts'
import type { ReplayPlatform, ReplaySource } from './source.ts'

/** Options of a replay. */
export type ReplayOptions = {
  readonly sources: readonly ReplaySource[]
  readonly platform: ReplayPlatform
  /** Received times in microseconds, start inclusive, end exclusive; default: everything. */
  readonly start?: number | undefined
  readonly end?: number | undefined
  /** Whether the columns of books include venue numbers, channels and journal positions. */
  readonly numbers?: boolean | undefined
  /** Whether rows of a venue's history are read too, at the venue's time: only to check a file. */
  readonly withHistory?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Recorded events of any markets, merged in the order in which they were received. Iterating it yields
 * batches, each of which is iterated synchronously and once; events left in a batch come with the next
 * one. Every iteration reads the sources again; leaving the loop closes them.
 */
export interface Replay extends AsyncIterable<ReplayBatch> {
  /** The same events one by one: simpler, at the cost of one promise per event. */
  events(): AsyncIterableIterator<ReplayEvent>
  /** Instruments and newest market records; empty before the first batch. */
  readonly instruments: readonly ReplayInstrument[]
  readonly markets: readonly MarketRecord[]
  /** Records of markets of which the sources have only the newest one, which older files do. */
  readonly newestOnly: readonly MarketRecord[]
}

/** Replays sources in order of received time; `ReplayEvent` defines the order of ties. */
export function replay(options: ReplayOptions): Replay {
  const { start = 0, end = Infinity } = options
  if (!(start >= 0 && end >= start)) {
    throw new PriorbookError('invalid_argument', `${start} to ${end} is not a range of a replay`)
  }
  return new MergedReplay(options, { start, end })
}

// Bytes of read-ahead: all lanes together, and the bounds of each lane.
const READ_AHEAD_TOTAL = 1 << 25
const READ_AHEAD_MAX = 1 << 18
const READ_AHEAD_MIN = 1 << 13
// Events after which the replay yields to the event loop, even if everything is in memory.
const EVENTS_PER_YIELD = 1 << 20

class MergedReplay implements Replay {
  instruments: readonly ReplayInstrument[] = []
  markets: readonly MarketRecord[] = []
  newestOnly: readonly MarketRecord[] = []
  private readonly options: ReplayOptions
  private readonly span: Span

  constructor(options: ReplayOptions, span: Span) {
    this.options = options
    this.span = span
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ReplayBatch> {
    const { sources, platform, signal = new AbortController().signal } = this.options
    signal.throwIfAborted()
    const opened = await openSources(sources, platform, signal)
    let merger: Merger | undefined
    try {
      if (this.options.withHistory !== true) refusePast(opened.contents)
      merger = this.merge(opened.contents)
      let yieldAt = EVENTS_PER_YIELD
      for (;;) {
        const batch = await merger.nextBatch()
        if (batch === undefined) return
        yield batch
        signal.throwIfAborted()
        if (merger.emitted >= yieldAt) {
          yieldAt = merger.emitted + EVENTS_PER_YIELD
          await yieldToEventLoop()
        }
      }
    } catch (error) {
      if (error instanceof ReplayError && merger !== undefined) {
        error.emitted = { events: merger.emitted, at: merger.lastAt }
      }
      throw error
    } finally {
      await opened.close()
    }
  }

  events(): AsyncIterableIterator<ReplayEvent> {
    return flatten(this)
  }

  private merge(contents: Contents): Merger {
    const { platform, numbers = false } = this.options
    const { span } = this
    const all = [...contents.streams.values()]
    // Reference prices belong to no instrument.
    const streams = all.filter(({ key }) => parseReferenceKey(key) === undefined)
    const instruments = instrumentsOf(streams, contents)
    this.instruments = instruments
    const known = [...contents.markets]
    this.markets = known.map(([, { record }]) => record)
    this.newestOnly = known.flatMap(([name, { record }]) =>
      contents.complete.has(name) ? [] : [record],
    )
    const places = new Map(instruments.map((one) => [instrumentName(one), one]))
    const share = READ_AHEAD_TOTAL / Math.max(1, all.length)
    const readAhead = Math.max(READ_AHEAD_MIN, Math.min(READ_AHEAD_MAX, share))
    const laneOptions: LaneOptions = { platform, span, numbers, readAhead }
    const placed = streams.map((stream) => ({ stream, own: places.get(instrumentName(stream))! }))
    placed.sort(
      (left, right) =>
        left.own.index - right.own.index || compareText(left.stream.metric, right.stream.metric),
    )
    const lanesOf = (
      kind: StreamContents['kind'],
      create: new (stream: StreamContents, options: LaneOptions, own: ReplayInstrument) => Lane,
    ): Lane[] =>
      placed
        .filter(({ stream }) => stream.kind === kind)
        .map(({ stream, own }) => new create(stream, laneOptions, own))
    const notes = notesOf(contents, span)
    // The order of the list decides ties.
    return new Merger([
      new ListLane(notes.markets),
      new ListLane(notes.closes),
      ...lanesOf('book', BookLane),
      ...lanesOf('trade', TradeLane),
      ...lanesOf('sample', SampleLane),
      ...referenceLanes(all, laneOptions),
      new ListLane(notes.opens),
    ])
  }
}

// These rows were fetched later: at their own time no recorder, and so no strategy, had received them.
function refusePast({ streams }: Contents): void {
  const past = [...streams.values()].find(({ key }) => isBackfillKey(key))
  if (past === undefined) return
  throw new PriorbookError(
    'invalid_argument',
    `${past.venue}:${past.market} has trades or prices of the venue’s history (origin=backfill), which were not observed and cannot be replayed`,
  )
}

function referenceLanes(streams: readonly StreamContents[], options: LaneOptions): Lane[] {
  return streams
    .toSorted(
      (left, right) => compareText(left.venue, right.venue) || compareText(left.key, right.key),
    )
    .flatMap((stream) => {
      const reference = parseReferenceKey(stream.key)
      return reference === undefined ? [] : [new ReferenceLane(stream, options, reference)]
    })
}

function instrumentsOf(
  streams: readonly StreamContents[],
  { markets, contexts }: Contents,
): readonly ReplayInstrument[] {
  const named = new Map<string, BookContext>()
  for (const { venue, market, key } of streams) {
    const name = instrumentName({ venue, key })
    const known = markets.get(`${venue}:${market}`)
    const context =
      known === undefined ? contexts.get(name) : contextOf(venue, market, key, known.record)
    named.set(name, context ?? contextOf(venue, market, key, undefined))
  }
  return numberInstruments(named.values())
}

/** Turns batches into single events. */
export function flatten(batches: AsyncIterable<ReplayBatch>): AsyncIterableIterator<ReplayEvent> {
  const outer = batches[Symbol.asyncIterator]()
  let inner: Iterator<ReplayEvent> | undefined
  const next = async (): Promise<IteratorResult<ReplayEvent>> => {
    for (;;) {
      const step = inner?.next()
      if (step !== undefined && step.done !== true) return { done: false, value: step.value }
      const batch = await outer.next()
      if (batch.done === true) return { done: true, value: undefined }
      inner = batch.value[Symbol.iterator]()
    }
  }
  return {
    next,
    async return() {
      await outer.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0)
  })
}
