import {
  isBackfillKey,
  parseReferenceKey,
  VENUE_IDS,
  type Gap,
  type Instrument,
  type VenueId,
} from '@priorbook/sdk/domain'
import { openEmbeddedStore } from '../open.ts'
import type { Maker } from '../log.ts'
import type { Stream } from '../streams.ts'
import { captureFact, historyKeysOf, MERGED_FACT, type Progress } from '../../store.ts'
import { mergeBooks, BookWalk, OwnGaps, type BookCounts, type BookSide } from './books.ts'
import { copyQuarantine, mergeMarkets, type CatalogSide } from './catalog.ts'
import { replaceFolder, MergeSink } from './target.ts'
import { planNumbers, closeSources, openSources, type Source } from './source.ts'
import {
  isDown,
  openPart,
  readPartSight,
  readSeriesSight,
  toStreamName,
  type Part,
  type PartSight,
} from './part.ts'
import { mergeSamples, mergeTrades, type RowCounts, type RowSide } from './rows.ts'
import { endOf, findCommonGaps, type Sight } from './blind-spans.ts'
import { SeriesGaps } from './series-gaps.ts'

/** The source folders and the target of a merge. */
export type MergeOptions = {
  /** The data folder to write: new, empty, or an earlier merge, which is replaced. */
  readonly target: string
  /** The data folders of two or more recorders, in any order. */
  readonly folders: readonly string[]
  readonly onProgress?: Progress
}

/** The result of a merge. */
export type MergeReport = {
  /** The folders in the order of their recorder ids: the first one's rows come first. */
  readonly recorders: readonly { readonly folder: string; readonly ids: readonly string[] }[]
  /** Journal records copied. */
  readonly records: number
  readonly instruments: number
  readonly books: Readonly<BookCounts>
  readonly trades: Readonly<RowCounts>
  readonly samples: Readonly<RowCounts>
  readonly markets: number
  readonly quarantined: number
}

/**
 * Derives one tape from those of several recorders of the same venues. For each instrument the tape of
 * the lowest recorder id is used, and inside its gaps the others' rows:
 *
 * - Rows of the first recorder outside its gaps stay as they are. Inside a gap [a, b) come rows of the
 *   next recorder received in (a, b) and outside its own gaps. The first row after every change of
 *   recorder is a restart with the complete book, so no row builds on another recorder's book. A
 *   recorder that is ahead when it takes over gives its book at once; a message that the other one had
 *   delivered up to 2 s before is not repeated.
 * - A gap is left only where all were blind, with the first recorder's reason. Before its first
 *   observation and after the end of its journal a recorder is blind without a gap of its own. Rows
 *   that the first recorder has inside a gap that is left stay in it.
 * - Received time never decreases: a row older than the last gets the last + 1 µs and `clock_step`.
 * - Trades: the first recorder's, and others' received in its gaps that it does not have, by trade id.
 *   Samples: the first one's, and others' while it did not run; reference prices: others' in its gaps. Market revisions of all by received
 *   time, and all that was quarantined.
 * - Of a history the rows of all, each once, and the gaps of all.
 * - The journals stand one behind the other in the merged one, each under its recorder's name, and
 *   every row names its record there; chunks name their recorder. A merged tape is not derived from its
 *   journal: merge again instead of rebuilding it.
 *
 * The same folders give the same chunks, in whatever order they are named. Folders may be written to
 * meanwhile: what their tapes held when the merge began is merged. Memory is bounded by pages.
 */
export async function mergeRecorders(options: MergeOptions): Promise<MergeReport> {
  const sources = await openSources(options.target, options.folders)
  try {
    return await replaceFolder(options.target, async (data) => {
      const store = openEmbeddedStore({ file: data.tape })
      try {
        const merge = new Merge(sources, new MergeSink(store), data.journal, options.onProgress)
        for (const venue of VENUE_IDS) await merge.venue(venue)
        await store.seal()
        return merge.report()
      } finally {
        await store.close()
      }
    })
  } finally {
    await closeSources(sources)
  }
}

class Merge {
  private readonly sources: readonly Source[]
  private readonly sink: MergeSink
  private readonly journalDir: string
  private readonly onProgress: Progress | undefined
  private readonly total: number
  private done = 0
  private records = 0
  private instruments = 0
  private markets = 0
  private quarantined = 0
  private readonly books: BookCounts = { observations: 0, filled: 0, repeated: 0, gaps: 0 }
  private readonly trades: RowCounts = { rows: 0, filled: 0, repeated: 0 }
  private readonly samples: RowCounts = { rows: 0, filled: 0, repeated: 0 }
  private readonly sights = new WeakMap<Part, PartSight>()

  constructor(
    sources: readonly Source[],
    sink: MergeSink,
    journalDir: string,
    onProgress: Progress | undefined,
  ) {
    this.sources = sources
    this.sink = sink
    this.journalDir = journalDir
    this.onProgress = onProgress
    let total = 0
    for (const { list, applied } of sources) {
      for (const { records } of applied.values()) total += records
      for (const stream of list.streams) total += rowsOf(stream)
    }
    this.total = total
  }

  report(): MergeReport {
    const { records, instruments, books, trades, samples, markets, quarantined } = this
    const recorders = this.sources.map(({ data, recorders: ids }) => ({ folder: data.path, ids }))
    return { recorders, records, instruments, books, trades, samples, markets, quarantined }
  }

  /** Merges everything of one venue. */
  async venue(venue: VenueId): Promise<void> {
    const sources = this.sources.filter(({ applied }) => applied.has(venue))
    const { all, last } = planNumbers(sources.map(({ applied }) => applied.get(venue)!))
    const parts: Part[] = []
    for (const [index, source] of sources.entries()) {
      parts.push(
        await openPart(venue, source, all[index]!, this.journalDir, (count) => {
          this.records += count
          this.move(count, 'records')
        }),
      )
    }
    const [first] = parts
    if (first === undefined) return
    for (const [name, stream] of unionOf(parts)) await this.stream(name, stream, parts)
    await this.catalog(venue, parts)
    await this.sink.finish(venue, first.maker, last, {
      [MERGED_FACT]: this.sources.length,
      ...(await readCaptureStart(venue, parts)),
    })
  }

  private async stream(name: string, stream: Stream, parts: readonly Part[]): Promise<void> {
    const { venue, market, key, kind, metric } = stream
    const instrument = { venue, market, key }
    const owners = parts.filter(({ streams }) => streams.has(name))
    if (kind === 'book') await this.book(name, instrument, parts)
    else if (kind === 'trade') {
      const sights = await Promise.all(owners.map((part) => this.sightOf(part, instrument)))
      const sides = owners.map((part, index) =>
        toRowSide(part, name, (time) =>
          sights.slice(0, index).every(({ sight }) => sight.isBlindAt(time)),
        ),
      )
      await mergeTrades(instrument, sides, this.sink, this.trades)
    } else await this.series(name, instrument, metric, owners)
    for (const { streams } of owners) this.move(rowsOf(streams.get(name)!), `${venue}:${key}`)
  }

  // Series of markets have no gaps of their own, so only a recorder that did not run is known to lack samples.
  private async series(
    name: string,
    instrument: Instrument,
    metric: string,
    owners: readonly Part[],
  ): Promise<void> {
    const { maker } = owners[0]!
    const isReference = parseReferenceKey(instrument.key) !== undefined
    const sights = isReference
      ? await Promise.all(owners.map((part) => readSeriesSight(part, instrument)))
      : []
    // The times of a history are the venue's, so when a recorder ran does not matter.
    const isHistory = isBackfillKey(instrument.key)
    const isBlind = (index: number, time: number): boolean =>
      isHistory || (sights[index]?.isBlindAt(time) ?? isDown(owners[index]!.heard, time))
    const sides = owners.map((part, index) =>
      toRowSide(part, name, (time) =>
        owners.slice(0, index).every((_, before) => isBlind(before, time)),
      ),
    )
    const gaps = new SeriesGaps(findCommonGaps(sights))
    await mergeSamples({ instrument, metric, sides, gaps, maker }, this.sink, this.samples)
  }

  private async book(name: string, instrument: Instrument, parts: readonly Part[]): Promise<void> {
    const sides: BookSide[] = []
    const sights: Sight[] = []
    for (const part of parts) {
      const { source, numbers, streams } = part
      const stream = streams.get(name)
      const { sight, gaps, makers } = await this.sightOf(part, instrument)
      if (stream === undefined && gaps.length === 0) continue
      sights.push(sight)
      if (stream === undefined || makers === undefined) continue
      const walk = new BookWalk(source.store, instrument, numbers.bound)
      sides.push({ walk, sight, own: new OwnGaps(gaps), numbers, makerAt: makers.at })
    }
    if (sides.length > 0) this.instruments++
    const { maker } = parts[0]!
    await mergeBooks({ instrument, sides, sights, maker }, this.sink, this.books)
  }

  // Books and trades of an instrument are merged in succession and share this value.
  private async sightOf(part: Part, instrument: Instrument): Promise<PartSight> {
    const kept = this.sights.get(part)
    if (kept?.key === instrument.key) return kept
    const sight = await readPartSight(part, instrument)
    this.sights.set(part, sight)
    return sight
  }

  private async catalog(venue: VenueId, parts: readonly Part[]): Promise<void> {
    const sides = parts.map(({ source, numbers, maker }): CatalogSide => ({
      store: source.store,
      numbers,
      maker,
    }))
    const hasBooks = new Set(
      parts.flatMap(({ streams }) =>
        [...streams.values()].filter(({ kind }) => kind === 'book').map(({ key }) => key),
      ),
    )
    for await (const { record } of mergeMarkets(venue, sides, this.sink)) {
      this.markets++
      const tokens = record.outcomes.flatMap(({ tokenId }) => tokenId ?? [])
      // Instruments without any book have only gaps.
      for (const key of new Set([record.marketId, ...tokens])) {
        if (hasBooks.has(key)) continue
        const instrument = { venue, market: record.marketId, key }
        await this.book(toStreamName({ key, kind: 'book', metric: '' }), instrument, parts)
      }
      for (const key of new Set(historyKeysOf(record))) await this.pastGaps(venue, key, parts)
    }
    for (const side of sides) this.quarantined += await copyQuarantine(venue, side, this.sink)
  }

  // What any of the recorders could not fetch stays a gap: nothing shows that the others have all of it.
  private async pastGaps(venue: VenueId, key: string, parts: readonly Part[]): Promise<void> {
    const found = new Map<string, { readonly gap: Gap; readonly maker: Maker }>()
    for (const { source, numbers, maker } of parts) {
      for (const own of await source.store.gaps({ venue, key })) {
        const gap = numbers.gapOf(own)
        if (gap === undefined) continue
        const name = `${gap.start} ${gap.reason}`
        const other = found.get(name)
        if (other === undefined || endOf(other.gap) < endOf(gap)) found.set(name, { gap, maker })
      }
    }
    const all = [...found.values()].sort((a, b) => a.gap.start - b.gap.start)
    for (const { gap, maker } of all) this.sink.rowsOf(venue, maker).gaps.push(gap)
    if (this.sink.isFull) await this.sink.flush()
  }

  private move(by: number, what: string): void {
    this.done += by
    this.onProgress?.(this.done, this.total, what)
  }
}

function rowsOf({ next, removed }: Stream): number {
  return next - 1 - removed
}

// Every stream of any recorder, sorted by name, so that the output is deterministic.
function unionOf(parts: readonly Part[]): [string, Stream][] {
  const union = new Map<string, Stream>()
  for (const { streams } of parts.toReversed()) {
    for (const [name, stream] of streams) union.set(name, stream)
  }
  return [...union].sort(([a], [b]) => (a < b ? -1 : 1))
}

function toRowSide(
  { source, numbers, streams }: Part,
  name: string,
  isNeeded: RowSide['isNeeded'],
): RowSide {
  const makers = source.list.makersOf(streams.get(name)!)
  return { store: source.store, numbers, makerAt: makers.at, isNeeded }
}

async function readCaptureStart(
  venue: VenueId,
  parts: readonly Part[],
): Promise<Record<string, number>> {
  const name = captureFact(venue)
  const facts = await Promise.all(parts.map(({ source }) => source.store.fact(name)))
  const known = facts.filter((fact) => fact !== undefined)
  return known.length === 0 ? {} : { [name]: Math.min(...known) }
}
