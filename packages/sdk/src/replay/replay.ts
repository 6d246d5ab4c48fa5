import { PriorbookError, type MarketRecord } from '../domain/index.ts'
import { instrumentName } from '../domain/index.ts'
import type { BookContext } from '../wire/index.ts'
import type { Contents, Span, StreamContents } from './contents.ts'
import { ReplayError } from './error.ts'
import type { ReplayBatch, ReplayEvent, ReplayInstrument } from './event.ts'
import { compareText, contextOf, numberInstruments } from './instrument.ts'
import { BookLane, ListLane, SampleLane, TradeLane, type Lane, type LaneNeeds } from './lane.ts'
import { Merger } from './merge.ts'
import { notesOf } from './notes.ts'
import { openSources } from './open-sources.ts'
import type { ReplayPlatform } from './platform.ts'
import type { ReplaySource } from './source.ts'

/** What to replay, and how. */
export type ReplayOptions = {
  readonly sources: readonly ReplaySource[]
  readonly platform: ReplayPlatform
  /** Received times in microseconds, start inclusive, end exclusive; all that the sources hold without. */
  readonly start?: number | undefined
  readonly end?: number | undefined
  /** Also read venue numbers, channels and journal places into the columns of books. */
  readonly numbers?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Recorded events of any markets, merged in the order in which they were seen. Iterating it gives
 * batches; each batch is walked without waiting, once, before the next one is asked for; what is left of
 * it then comes with the next one. Every iteration reads the sources anew; leaving a loop closes what was
 * opened.
 */
export interface Replay extends AsyncIterable<ReplayBatch> {
  /** The same events one by one: easier, at the cost of a promise an event. */
  events(): AsyncIterableIterator<ReplayEvent>
  /** Instruments and newest market records; empty before the first batch has come. */
  readonly instruments: readonly ReplayInstrument[]
  readonly markets: readonly MarketRecord[]
}

/** Replays sources in received-time order; `ReplayEvent` says in which order what came together is told. */
export function replay(options: ReplayOptions): Replay {
  const { start = 0, end = Infinity } = options
  if (!(start >= 0 && end >= start)) {
    throw new PriorbookError('invalid_argument', `a replay cannot go from ${start} to ${end}`)
  }
  return new MergedReplay(options, { start, end })
}

// All lanes together read so much ahead, and each at most and at least so much.
const READ_AHEAD_ALL = 1 << 25
const READ_AHEAD_MOST = 1 << 18
const READ_AHEAD_LEAST = 1 << 13
// After so many events the event loop turns once, also where nothing has to be waited for.
const EVENTS_A_TURN = 1 << 20

class MergedReplay implements Replay {
  instruments: readonly ReplayInstrument[] = []
  markets: readonly MarketRecord[] = []
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
      merger = this.merge(opened.contents)
      let turnAt = EVENTS_A_TURN
      for (;;) {
        const batch = await merger.nextBatch()
        if (batch === undefined) return
        yield batch
        signal.throwIfAborted()
        if (merger.told >= turnAt) {
          turnAt = merger.told + EVENTS_A_TURN
          await turn()
        }
      }
    } catch (error) {
      if (error instanceof ReplayError && merger !== undefined) {
        error.told = { events: merger.told, at: merger.lastAt }
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
    const streams = [...contents.streams.values()]
    const instruments = instrumentsOf(streams, contents)
    this.instruments = instruments
    this.markets = [...contents.markets.values()].map(({ record }) => record)
    const places = new Map(instruments.map((one) => [instrumentName(one), one]))
    const share = READ_AHEAD_ALL / Math.max(1, streams.length)
    const readAhead = Math.max(READ_AHEAD_LEAST, Math.min(READ_AHEAD_MOST, share))
    const needs: LaneNeeds = { platform, span, numbers, readAhead }
    const placed = streams.map((stream) => ({ stream, own: places.get(instrumentName(stream))! }))
    placed.sort(
      (left, right) =>
        left.own.index - right.own.index || compareText(left.stream.metric, right.stream.metric),
    )
    const lanesOf = (
      kind: StreamContents['kind'],
      create: new (stream: StreamContents, needs: LaneNeeds, own: ReplayInstrument) => Lane,
    ): Lane[] =>
      placed
        .filter(({ stream }) => stream.kind === kind)
        .map(({ stream, own }) => new create(stream, needs, own))
    const notes = notesOf(contents, span)
    // Their places are the order of what was received at the same time.
    return new Merger([
      new ListLane(notes.markets),
      new ListLane(notes.closes),
      ...lanesOf('book', BookLane),
      ...lanesOf('trade', TradeLane),
      ...lanesOf('sample', SampleLane),
      new ListLane(notes.opens),
    ])
  }
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

/** Batches as single events. */
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

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0)
  })
}
