import type { PriorbookClient } from '../../client/index.ts'
import { CliError } from '../errors.ts'
import { noCapture, readCapture, type CaptureCounts, type OwnRow } from './read-capture.ts'
import {
  SeriesComparison,
  type ComparisonLimits,
  type Difference,
  type Hole,
  type SeriesCounts,
} from './series-comparison.ts'
import { ServiceRows, type SeriesName, type ServiceRow } from './service-rows.ts'
import { OffsetEstimate, type TimeOffset } from './time-offset.ts'

/** What to compare, and how. */
export type OverlapOrder = {
  readonly client: PriorbookClient
  readonly path: string
  readonly depth: number
  /** Max difference of the clocks that is looked for, in microseconds. */
  readonly window: number
  /** The shortest span without a book that counts as a hole, in microseconds. */
  readonly hole: number
  /** How far apart both sides may receive a message; by default from the spread of the offset. */
  readonly tolerance?: number | undefined
  readonly signal: AbortSignal
  onProgress(bytes: number, what: string): void
}

/** The result of a comparison. */
export type Overlap = {
  readonly capture: CaptureCounts
  readonly offset: TimeOffset | undefined
  readonly tolerance: number
  readonly series: readonly (SeriesName & { readonly counts: SeriesCounts })[]
  /** Instruments that the service has not recorded. */
  readonly unrecorded: readonly string[]
  readonly totals: SeriesCounts
  readonly differences: readonly Difference[]
  readonly ownHoles: readonly Hole[]
  readonly serviceHoles: readonly Hole[]
}

/** What the first pass learns of an instrument. */
type Span = SeriesName & {
  first: number
  last: number
  rows: number
  /** The first books, for the offset of the clocks. */
  readonly sample: Pick<OwnRow, 'time' | 'top'>[]
}

// The first books of the first instruments tell the offset of the clocks.
const SAMPLED_SERIES = 16
const SAMPLED_ROWS = 1000
const MIN_TOLERANCE = 100_000
const MAX_TOLERANCE = 2_000_000

/**
 * Compares a capture with what the service recorded. The file is read twice, line by line: for the span of
 * each instrument and the offset of the clocks, and then book by book beside pages of the service.
 */
export async function compareCapture(order: OverlapOrder): Promise<Overlap> {
  const service = new ServiceRows(order.client, order.depth, order.signal)
  const capture = noCapture()
  const spans = await readSpans(order, capture)
  if (spans.size === 0) {
    const why = capture.firstUnreadable
    const detail = why === undefined ? '' : `; line ${why.line}: ${why.detail}`
    throw new CliError('usage', `${order.path} has no book of any venue${detail}`)
  }
  const unrecorded = new Set<string>()
  const offset = await estimate(order, service, spans)
  const spread = offset === undefined ? 0 : offset.high - offset.low
  const tolerance = order.tolerance ?? Math.min(MAX_TOLERANCE, Math.max(MIN_TOLERANCE, spread))
  const limits = { offset: offset?.median ?? 0, tolerance, hole: order.hole }
  const open = new Map<string, SeriesComparison>()
  const results = new Results()
  const counts = noCapture()
  for await (const row of readCapture({ ...order, counts })) {
    const name = nameOf(row)
    const span = spans.get(name)!
    if (unrecorded.has(name)) continue
    let comparison = open.get(name)
    if (comparison === undefined) {
      comparison = await openComparison(service, span, limits)
      if (comparison === undefined) {
        unrecorded.add(name)
        continue
      }
      open.set(name, comparison)
    }
    await comparison.add(row)
    // Rounds follow one another: only those that are open are held.
    if (--span.rows === 0) {
      await comparison.finish()
      results.add(span, comparison)
      open.delete(name)
    }
    if (row.line % PROGRESS_LINES === 0) order.onProgress(counts.bytes, 'compared')
  }
  return { capture, offset, tolerance, unrecorded: [...unrecorded], ...results.all() }
}

const PROGRESS_LINES = 1000

/** Undefined where the service does not know the market. */
async function openComparison(
  service: ServiceRows,
  span: Span,
  limits: ComparisonLimits,
): Promise<SeriesComparison | undefined> {
  const start = Math.max(1, span.first + limits.offset - limits.tolerance)
  const end = span.last + limits.offset + limits.tolerance + 1
  try {
    const gaps = await service.gaps(span, start, end)
    return new SeriesComparison(span, service.rowsFrom(span, start, end), gaps, limits)
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'unknown_market') throw error
    return undefined
  }
}

async function readSpans(order: OverlapOrder, counts: CaptureCounts): Promise<Map<string, Span>> {
  const spans = new Map<string, Span>()
  for await (const row of readCapture({ ...order, counts })) {
    const { venue, marketId, key, time } = row
    const name = nameOf(row)
    let span = spans.get(name)
    if (span === undefined) {
      span = { venue, marketId, key, first: time, last: time, rows: 0, sample: [] }
      spans.set(name, span)
    }
    span.rows++
    span.first = Math.min(span.first, time)
    span.last = Math.max(span.last, time)
    const isSampled = spans.size <= SAMPLED_SERIES && span.sample.length < SAMPLED_ROWS
    if (isSampled && row.isKnown) span.sample.push({ time, top: row.top })
    if (row.line % PROGRESS_LINES === 0) order.onProgress(counts.bytes, 'read')
  }
  return spans
}

async function estimate(
  order: OverlapOrder,
  service: ServiceRows,
  spans: ReadonlyMap<string, Span>,
): Promise<TimeOffset | undefined> {
  const sampled = [...spans.values()].filter(({ sample }) => sample.length > 0)
  let found: TimeOffset | undefined
  // Most clocks are close, and a narrow window needs few rows.
  for (const window of [...NEAR.filter((near) => near < order.window), order.window]) {
    const estimated = new OffsetEstimate()
    for (const span of sampled) estimated.add(span.sample, await rowsAround(service, span, window))
    found = estimated.result()
    if (found !== undefined && found.matches >= ENOUGH_MATCHES) break
  }
  for (const { sample } of sampled) sample.length = 0
  return found
}

const NEAR = [2_000_000, 20_000_000]
const ENOUGH_MATCHES = 20
const MAX_ROWS = 200_000

/** The rows of the service around the first books of a capture; none of a market that it does not know. */
async function rowsAround(service: ServiceRows, span: Span, window: number): Promise<ServiceRow[]> {
  const { sample } = span
  const rows: ServiceRow[] = []
  const start = Math.max(1, sample[0]!.time - window)
  try {
    for await (const row of service.rows(span, start, sample.at(-1)!.time + window)) {
      rows.push(row)
      if (rows.length === MAX_ROWS) break
    }
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'unknown_market') throw error
  }
  return rows
}

class Results {
  private readonly series: { readonly span: Span; readonly comparison: SeriesComparison }[] = []

  add(span: Span, comparison: SeriesComparison): void {
    this.series.push({ span, comparison })
  }

  all(): Pick<Overlap, 'series' | 'totals' | 'differences' | 'ownHoles' | 'serviceHoles'> {
    const all = this.series.map(({ comparison }) => comparison)
    const sum = (name: keyof SeriesCounts): number =>
      all.reduce((total, { counts }) => total + counts[name], 0)
    const names = ['rows', 'compared', 'best', 'depth', 'inFlight', 'before', 'inGap', 'unknown']
    const totals = Object.fromEntries(
      names.map((name) => [name, sum(name as keyof SeriesCounts)]),
    ) as SeriesCounts
    const byTime = <T extends { readonly time: number } | { readonly start: number }>(
      list: readonly T[],
    ): T[] => list.toSorted((a, b) => timeOf(a) - timeOf(b))
    return {
      series: this.series.map(({ span: { venue, marketId, key }, comparison }) => ({
        venue,
        marketId,
        key,
        counts: comparison.counts,
      })),
      totals,
      differences: byTime(all.flatMap(({ differences }) => differences)),
      ownHoles: byTime(all.flatMap(({ ownHoles }) => ownHoles)),
      serviceHoles: byTime(all.flatMap(({ serviceHoles }) => serviceHoles)),
    }
  }
}

function timeOf(value: { readonly time: number } | { readonly start: number }): number {
  return 'time' in value ? value.time : value.start
}

function nameOf({ venue, key }: SeriesName): string {
  return `${venue}:${key}`
}
