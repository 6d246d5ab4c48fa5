import type { OwnRow } from './read-capture.ts'
import type { SeriesName, ServiceGap, ServiceRow } from './service-rows.ts'

/** A book of the capture that the service recorded otherwise. */
export type Difference = {
  readonly series: string
  readonly line: number
  /** By the clock of the service, in microseconds. */
  readonly time: number
  readonly what: 'best_price' | 'depth'
  readonly own: string
  readonly service: string
  /** The row of the service that the book was compared with. */
  readonly row: string
}

/** A span in which one side has nothing and the other has books. */
export type Hole = {
  readonly series: string
  readonly start: number
  readonly end: number
  /** Books that the other side has in it. */
  readonly others: number
  /** The reason that the service declares; absent where it declares none, and for holes of the capture. */
  readonly declared?: string
}

/** What was compared of one instrument. */
export type SeriesCounts = {
  rows: number
  compared: number
  /** Best prices, and all compared levels, that equal those of the nearest row before. */
  best: number
  depth: number
  /** Of these: equal only to a row within the tolerance, because both were on their way. */
  inFlight: number
  /** Before the first row of the service, inside one of its declared gaps, and after a hole of the capture. */
  before: number
  inGap: number
  unknown: number
}

/** The limits of a comparison, in microseconds. */
export type ComparisonLimits = {
  readonly offset: number
  readonly tolerance: number
  readonly hole: number
}

const MAX_KEPT = 1000

/** Compares the books of one instrument with the rows of the service, both in order of time. */
export class SeriesComparison {
  readonly counts: SeriesCounts = {
    rows: 0,
    compared: 0,
    best: 0,
    depth: 0,
    inFlight: 0,
    before: 0,
    inGap: 0,
    unknown: 0,
  }
  /** The first differences; `counts` has all. */
  readonly differences: Difference[] = []
  readonly ownHoles: Hole[] = []
  readonly serviceHoles: Hole[] = []
  private readonly series: string
  private readonly rows: AsyncIterator<ServiceRow>
  private readonly gaps: readonly ServiceGap[]
  private readonly limits: ComparisonLimits
  /** The newest row before the tolerance, and the rows within it. */
  private recent: ServiceRow[] = []
  private next: ServiceRow | undefined
  private lastOwn: number | undefined
  /** Books of the capture since the last row of the service, beyond the tolerance. */
  private ownSince = 0
  private isSuspect = false

  constructor(
    { venue, key }: SeriesName,
    rows: AsyncIterator<ServiceRow>,
    gaps: readonly ServiceGap[],
    limits: ComparisonLimits,
  ) {
    this.series = `${venue}:${key}`
    this.rows = rows
    this.gaps = gaps
    this.limits = limits
  }

  /** Compares the next book of the capture. */
  async add(own: OwnRow): Promise<void> {
    const { counts, limits } = this
    counts.rows++
    const time = own.time + limits.offset
    const seen = await this.pull(time + limits.tolerance)
    this.findOwnHole(time, seen)
    this.lastOwn = time
    const last = this.recent.at(-1)
    if (last !== undefined && time > last.time + limits.tolerance) this.ownSince++
    if (own.isFull) this.isSuspect = false
    if (this.isSuspect || !own.isKnown) counts.unknown++
    else this.compare(own, time)
  }

  /** Reads the remaining rows of the service. */
  async finish(): Promise<void> {
    const last = this.lastOwn
    await this.pull(Infinity)
    await this.rows.return?.()
    if (last !== undefined) this.noteServiceHole(last)
  }

  private compare(own: OwnRow, time: number): void {
    const { counts, recent, limits } = this
    const before = recent.findLast((row) => row.time <= time)
    const near = recent.filter((row) => Math.abs(row.time - time) <= limits.tolerance)
    const nearest = before ?? near[0]
    if (this.gapAt(time) !== undefined) counts.inGap++
    else if (nearest === undefined) counts.before++
    else {
      counts.compared++
      const isBest = (row: ServiceRow): boolean =>
        row.top.bid === own.top.bid && row.top.ask === own.top.ask
      const isDeep = (row: ServiceRow): boolean => row.top.depth === own.top.depth
      const hasBest = isBest(nearest) || near.some(isBest)
      const hasDepth = isDeep(nearest) || near.some(isDeep)
      if (hasBest) counts.best++
      if (hasDepth) counts.depth++
      if (hasDepth && !isDeep(nearest)) counts.inFlight++
      if (!hasDepth) this.differ(own, time, nearest, hasBest ? 'depth' : 'best_price')
    }
  }

  private differ(own: OwnRow, time: number, row: ServiceRow, what: Difference['what']): void {
    if (this.differences.length >= MAX_KEPT) return
    const text = (top: OwnRow['top']): string =>
      what === 'depth' ? depthText(top.depth) : `${priceText(top.bid)} / ${priceText(top.ask)}`
    const { series } = this
    const sides = { own: text(own.top), service: text(row.top), row: row.id }
    this.differences.push({ series, line: own.line, time, what, ...sides })
  }

  /** Reads rows of the service up to a time; gives those that are new. */
  private async pull(until: number): Promise<ServiceRow[]> {
    const fresh: ServiceRow[] = []
    for (;;) {
      if (this.next === undefined) {
        const { value, done } = await this.rows.next()
        if (done === true) break
        this.next = value
      }
      if (this.next.time > until) break
      this.findServiceHole(this.next)
      fresh.push(this.next)
      this.recent.push(this.next)
      this.next = undefined
    }
    const horizon = until - 2 * this.limits.tolerance
    const keep = this.recent.findLastIndex(({ time }) => time <= horizon)
    if (keep > 0) this.recent = this.recent.slice(keep)
    return fresh
  }

  private findOwnHole(time: number, fresh: readonly ServiceRow[]): void {
    const { lastOwn, limits, series } = this
    if (lastOwn === undefined || time - lastOwn <= limits.hole) return
    const isInside = (row: ServiceRow): boolean =>
      row.time > lastOwn + limits.tolerance && row.time < time - limits.tolerance
    const others = fresh.filter(isInside).length
    if (others === 0) return
    this.ownHoles.push({ series, start: lastOwn, end: time, others })
    // Changes of that time are missing, so the book is known again only with the next whole one.
    this.isSuspect = true
  }

  private findServiceHole(row: ServiceRow): void {
    this.noteServiceHole(row.time)
    this.ownSince = 0
  }

  private noteServiceHole(end: number): void {
    const before = this.recent.at(-1)
    const others = this.ownSince
    if (before === undefined || end - before.time <= this.limits.hole || others === 0) return
    const start = before.time
    const gap = this.gaps.find((one) => one.start < end && one.end > start)
    const declared = gap === undefined ? {} : { declared: gap.reason }
    this.serviceHoles.push({ series: this.series, start, end, others, ...declared })
  }

  private gapAt(time: number): ServiceGap | undefined {
    return this.gaps.find(({ start, end }) => start <= time && time < end)
  }
}

function depthText(depth: string): string {
  return depth.replaceAll(
    /(\d+)x(\d+)/g,
    (_, price: string, size: string) => `${priceText(price)}×${Number(size) / 100_000_000}`,
  )
}

function priceText(price: string): string {
  return price === '' ? 'none' : String(Number(price) / 1_000_000)
}
