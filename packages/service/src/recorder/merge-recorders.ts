import { VENUE_IDS, type Gap, type Instrument, type VenueId } from '@priorbook/sdk/domain'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import type { Maker } from '../store/embedded/log.ts'
import type { Stream } from '../store/embedded/streams.ts'
import type { Progress } from '../store/store.ts'
import { NORMALIZERS } from '../venues/registry.ts'
import { weaveBooks, type BookCounts, type BookSide } from './merge-recorders-books.ts'
import { copyQuarantine, weaveMarkets, type CatalogSide } from './merge-recorders-catalog.ts'
import { MERGED_FACT, replaceFolder } from './merge-recorders-folder.ts'
import { copyJournal, type Heard } from './merge-recorders-journal.ts'
import { planNumbers, type Numbers } from './merge-recorders-numbers.ts'
import { weaveSamples, weaveTrades, type RowCounts, type RowSide } from './merge-recorders-rows.ts'
import { MergeSink } from './merge-recorders-sink.ts'
import { closeSources, openSources, type Source } from './merge-recorders-source.ts'
import { Sight } from './merge-recorders-spans.ts'
import { BookWalk, OwnGaps } from './merge-recorders-walk.ts'

/** What to merge, and where to. */
export type MergeOptions = {
  /** The data folder to write: new, empty, or an earlier merge, which is replaced. */
  readonly target: string
  /** The data folders of two or more recorders, in any order. */
  readonly folders: readonly string[]
  readonly onProgress?: Progress
}

/** What a merge read and wrote. */
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
 *   Samples: the first one's, and others' while it did not run. Market revisions of all by received
 *   time, and all that was quarantined.
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

/** One recorder's part of a venue. */
type Part = {
  readonly source: Source
  readonly numbers: Numbers
  readonly heard: Heard
  readonly streams: ReadonlyMap<string, Stream>
  readonly maker: Maker
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
      parts.push(await this.openPart(venue, source, all[index]!))
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

  private async openPart(venue: VenueId, source: Source, numbers: Numbers): Promise<Part> {
    const heard = copyJournal({
      from: source.data.journal,
      to: this.journalDir,
      venue,
      numbers,
      onRecords: (count) => {
        this.records += count
        this.move(count, 'records')
      },
    })
    const streams = new Map<string, Stream>()
    for (const stream of source.list.streams) {
      if (stream.venue === venue) streams.set(nameOf(stream), stream)
    }
    const { origin, recorders } = source
    const maker = { origin, recorder: recorders[0]!, normalizer: NORMALIZERS[venue].version }
    const part = { source, numbers, heard, streams, maker }
    return heard.to === undefined ? { ...part, heard: await hearFromTape(venue, source) } : part
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
      await weaveTrades(instrument, sides, this.sink, this.trades)
    } else {
      const sides = owners.map((part, index) =>
        toRowSide(part, name, (time) =>
          owners.slice(0, index).every(({ heard }) => isDown(heard, time)),
        ),
      )
      await weaveSamples(instrument, metric, sides, this.sink, this.samples)
    }
    for (const { streams } of owners) this.move(rowsOf(streams.get(name)!), `${venue}:${key}`)
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
    await weaveBooks({ instrument, sides, sights, maker }, this.sink, this.books)
  }

  // What a recorder could see of an instrument; without a row of it, nothing at all.
  private async sightOf(part: Part, instrument: Instrument) {
    const { source, numbers, heard, streams } = part
    const { venue, market, key } = instrument
    const stream = streams.get(nameOf({ key, kind: 'book', metric: '' }))
    const makers = stream === undefined ? undefined : source.list.makersOf(stream)
    const facts = await source.store.instrument(instrument)
    const found: Gap[] = [...(makers?.damaged ?? [])]
    // What the whole market or the whole venue missed, an instrument that was seen missed too.
    for (const name of new Set(stream === undefined ? [key] : [key, market, ''])) {
      found.push(...(await source.store.gaps({ venue, key: name })))
    }
    const gaps = found
      .map((gap) => numbers.gapOf(gap))
      .filter((gap) => gap !== undefined)
      .sort((a, b) => a.start - b.start)
    const known =
      facts === undefined
        ? undefined
        : { from: facts.firstReceived, to: Math.max(heard.to!, facts.lastReceived) }
    return { sight: new Sight(gaps, known), gaps, makers }
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
    for await (const { record } of weaveMarkets(venue, sides, this.sink)) {
      this.markets++
      const tokens = record.outcomes.flatMap(({ tokenId }) => tokenId ?? [])
      // Instruments of which no book was ever seen have gaps and nothing else.
      for (const key of new Set([record.marketId, ...tokens])) {
        if (hasBooks.has(key)) continue
        const instrument = { venue, market: record.marketId, key }
        await this.book(nameOf({ key, kind: 'book', metric: '' }), instrument, parts)
      }
    }
    for (const side of sides) this.quarantined += await copyQuarantine(venue, side, this.sink)
  }

  private move(by: number, what: string): void {
    this.done += by
    this.onProgress?.(this.done, this.total, what)
  }
}

function nameOf({ key, kind, metric }: Pick<Stream, 'key' | 'kind' | 'metric'>): string {
  return `${key} ${kind} ${metric}`
}

function rowsOf({ next, removed }: Stream): number {
  return next - 1 - removed
}

// Every stream that any recorder has, by name, so that the order of rows is the same every time.
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

function isDown({ from, to, downs }: Heard, time: number): boolean {
  if (from === undefined || to === undefined || time < from || time > to) return true
  return downs.some(({ start, end }) => start < time && time < end)
}

// Without a journal the rows themselves say how long a recorder listened.
async function hearFromTape(venue: VenueId, { store }: Source): Promise<Heard> {
  let from = Infinity
  let to = 0
  for (const { firstReceived, lastReceived } of await store.instruments(venue)) {
    from = Math.min(from, firstReceived)
    to = Math.max(to, lastReceived)
  }
  return { from, to, downs: [] }
}

async function readCaptureStart(
  venue: VenueId,
  parts: readonly Part[],
): Promise<Record<string, number>> {
  const name = `capture_started:${venue}`
  const facts = await Promise.all(parts.map(({ source }) => source.store.fact(name)))
  const known = facts.filter((fact) => fact !== undefined)
  return known.length === 0 ? {} : { [name]: Math.min(...known) }
}
