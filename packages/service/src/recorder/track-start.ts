import { FLAGS, type Instrument, type Micros, type Sample } from '@priorbook/sdk/domain'
import { applyRows, Ladder, loadBase, type BookRun } from '@priorbook/sdk/tape'
import type { InstrumentRef, Store } from '../store/store.ts'
import { HABIT_SIZE } from '../venues/capture/silence.ts'
import { Track, type Mark, type TrackStart } from './track.ts'

const TRADE_IDS = 256
const FULL_PAGE = 1024
const FULL_PAGES = 16

/** Takes up an instrument where the store left it. */
export async function openTrack(
  store: Store,
  instrument: Instrument,
  openTime: Micros | undefined,
  captureStarted: number | undefined,
  keepsStates: boolean,
): Promise<Track> {
  const ref = { venue: instrument.venue, key: instrument.key }
  const newest = await store.books({ ...ref, order: 'desc', limit: HABIT_SIZE + 1, numbers: true })
  const facts = await store.instrument(ref)
  const gaps = await store.gaps({ ...ref, open: true })
  const trades = await store.trades({ ...ref, order: 'desc', limit: TRADE_IDS })
  const ladder = newest.corrupt.length === 0 ? bookAfter(newest.runs) : undefined
  const gap = gaps[0]
  const sequence = facts?.lastSequence ?? 0
  const full = sequence === 0 ? undefined : await findFull(store, ref)
  const start: TrackStart = {
    ...(ladder === undefined ? {} : { ladder }),
    sequence,
    marks: newest.runs.flatMap(marksOf),
    ...(full === undefined ? {} : { full }),
    lastTrade: trades.rows.received[trades.rows.count - 1] ?? 0,
    tradeIds: Array.from({ length: trades.rows.count }, (_, at) => trades.rows.tradeId[at]!),
    journal: newestJournal(newest.runs),
    tradeJournal: trades.rows.journal[trades.rows.count - 1] ?? 0,
    ...(gap === undefined ? {} : { gap }),
    ...(sequence === 0 ? spanBefore(openTime, captureStarted) : {}),
  }
  return new Track(instrument, start, keepsStates)
}

/** The end of one series of samples: its received time never runs against the one before. */
export type SampleEnd = {
  readonly journal: number
  /** Gives a sample its place in time. */
  next(sample: Sample): Sample
}

/** Takes up a series of samples where the store left it. */
export async function readSampleEnd(store: Store, sample: Sample): Promise<SampleEnd> {
  const { instrument, metric } = sample
  const { venue, key } = instrument
  const { rows } = await store.samples({ venue, key, metric, order: 'desc', limit: 1 })
  const at = rows.count - 1
  let last = rows.received[at] ?? 0
  return {
    journal: rows.journal[at] ?? 0,
    next(next) {
      if (next.received >= last) {
        last = next.received
        return next
      }
      last++
      return { ...next, received: last as Micros, flags: (next.flags ?? 0) | FLAGS.clock_step }
    },
  }
}

// What is missing before the first observation: the recorder was not there yet, or did not know.
function spanBefore(
  openTime: Micros | undefined,
  captureStarted: number | undefined,
): Pick<TrackStart, 'before'> {
  if (openTime === undefined || captureStarted === undefined) return {}
  const reason = openTime < captureStarted ? 'before_capture' : 'late_discovery'
  return { before: { openTime, reason } }
}

async function findFull(store: Store, ref: InstrumentRef): Promise<TrackStart['full']> {
  let after: number | undefined
  for (let page = 0; page < FULL_PAGES; page++) {
    const { runs, hasMore } = await store.books({
      ...ref,
      order: 'desc',
      limit: FULL_PAGE,
      numbers: true,
      ...(after === undefined ? {} : { after }),
    })
    for (const run of runs.toReversed()) {
      const { columns } = run
      for (let row = run.to - 1; row >= run.from; row--) {
        if ((columns.flags[row]! & FLAGS.full_book) === 0) continue
        return { ...toMark(run, row), sequence: run.firstSequence + row }
      }
    }
    const oldest = runs[0]
    if (!hasMore || oldest === undefined) return undefined
    after = oldest.firstSequence + oldest.from
  }
  return undefined
}

function marksOf(run: BookRun): Mark[] {
  return Array.from({ length: run.to - run.from }, (_, at) => toMark(run, run.from + at))
}

function toMark({ columns }: BookRun, row: number): Mark {
  return {
    received: columns.received[row]!,
    source: columns.source[row]!,
    venueSeq: columns.venueSeq[row]!,
    channel: columns.channel[row]!,
  }
}

function newestJournal(runs: readonly BookRun[]): number {
  const run = runs.at(-1)
  return run === undefined ? 0 : run.columns.journal[run.to - 1]!
}

function bookAfter(runs: readonly BookRun[]): Ladder | undefined {
  const run = runs.at(-1)
  if (run === undefined) return undefined
  const ladder = new Ladder()
  loadBase(ladder, run.columns)
  applyRows(ladder, run.columns, 0, run.to)
  return ladder
}
