import { batch, computed, effect, signal, type ReadonlySignal } from '@preact/signals'
import type { ContractSnapshotJson, SpreadJson } from '@priorbook/sdk/client'
import type { GapJson } from '@priorbook/sdk/wire'
import { createPanel } from '../app/panel.ts'
import { retryLoad, toTrouble, type Trouble } from '../app/trouble.ts'
import { commonGaps, gapsOfMember, toFirstRow, toPoints, withRows } from '../model/compare-lines.ts'
import { joinSpans } from '../model/edge.ts'
import { withGap } from '../model/gap.ts'
import { chooseInterval, INTERVAL_MICROS } from '../model/history.ts'
import type { Range } from '../model/range.ts'
import { gapAt } from '../model/gap.ts'
import { DAY, microsOf, MINUTE } from '../model/time.ts'
import { ChartView } from './chart-view.ts'
import type { CompareTarget } from './compare-target.ts'
import type { TimeStore } from './time-store.ts'

// The longest range that edges are searched in.
const MAX_EDGES = 7 * DAY
// Max pages of edges: 1,000 each.
const MAX_PAGES = 5
// A gap is found after it has begun, so everything is read again from time to time.
const RELOAD_MS = 60_000

const INTERVALS = Object.keys(INTERVAL_MICROS) as (keyof typeof INTERVAL_MICROS)[]

type Detail = { readonly step: number; readonly rows: readonly ContractSnapshotJson[] }

/** The best prices of all members over time, their gaps, and the edges between them. */
export class CompareHistory implements TimeStore {
  readonly panels = { snapshots: createPanel(), spreads: createPanel() }
  readonly session: CompareTarget
  readonly isLoaded = signal(false)
  readonly trouble = signal<Trouble | undefined>(undefined)
  /** Spans with an edge after fees, by their start. */
  readonly spans = signal<readonly SpreadJson[]>([])
  /** True where there are more edges than were read. */
  readonly hasMoreSpans = signal(false)
  private readonly rows = signal<readonly ContractSnapshotJson[]>([])
  private readonly allGaps = signal<readonly GapJson[]>([])
  /** Up to when books and edges have been read. */
  private readonly until = signal(0)
  private loadedAt = -Infinity
  /** The rows of the span that the visitor chose, in finer buckets. */
  private readonly detail = signal<Detail | undefined>(undefined)
  private detailing = new AbortController()
  private readonly dispose: () => void

  readonly memberGaps = computed(() =>
    (this.session.contract.value?.members ?? []).map((member) =>
      gapsOfMember(this.allGaps.value, member),
    ),
  )
  /** Time in which no member was observed. */
  readonly gaps = computed(() => commonGaps(this.memberGaps.value))
  readonly view: ChartView
  readonly range: ReadonlySignal<Range | undefined>
  readonly points = computed(() =>
    this.memberGaps.value.map((gaps, place) =>
      toPoints(this.shownRows.value, place, gaps, this.until.value),
    ),
  )
  private readonly shownRows = computed(() => this.detail.value?.rows ?? this.rows.value)

  constructor(session: CompareTarget, zoom?: Range) {
    this.session = session
    const whole = computed(() => {
      const { value: extent } = session.extent
      if (extent === undefined) return undefined
      return { from: extent.from, to: Math.max(extent.to, extent.from + MINUTE / 2) }
    })
    this.view = new ChartView(whole, whole, zoom)
    this.range = this.view.range
    const stops = [
      effect(() => {
        const { value: range } = this.view.settled
        if (this.isLoaded.value) queueMicrotask(() => void this.loadDetail(range))
      }),
      effect(() => {
        const step = this.detail.value?.step ?? this.wholeStep()
        this.view.sampled.value = { step, last: this.until.value }
      }),
    ]
    this.dispose = () => {
      for (const stop of stops) stop()
      this.view.close()
    }
  }

  close(): void {
    this.dispose()
    this.detailing.abort()
  }

  /** The best prices of a member at an instant of the crosshair, or why there are none. */
  quoteAt(
    place: number,
    time: number,
  ): { readonly bid: number | null; readonly ask: number | null } | string {
    const gap = gapAt(this.memberGaps.peek()[place] ?? [], time)
    if (gap !== undefined) return gap.reason.replaceAll('_', ' ')
    const point = this.points.peek()[place]?.findLast((one) => one.time <= time)
    return point?.isKnown === true ? point : 'nothing recorded'
  }

  // Reads a chosen span in the finest buckets that it allows.
  private async loadDetail(range: Range | undefined): Promise<void> {
    this.detailing.abort()
    this.detailing = new AbortController()
    const { signal: stopped } = this.detailing
    const step = range === undefined ? 0 : INTERVAL_MICROS[chooseInterval(range.to - range.from)]
    // What has been read of the whole window is as fine already.
    if (range === undefined || step >= this.wholeStep()) {
      this.detail.value = undefined
      return
    }
    await retryLoad(async () => {
      const { contractId } = this.session
      const { client, note } = this.panels.snapshots
      // What was valid before the first bucket, so that lines begin at the edge.
      const at = Math.floor(range.from / step) * step - 1
      note('contractBooks', { at, depth: 1 }, contractId)
      const query = { at, depth: 1 }
      const { data } = await client.contractBooks(contractId, query, { signal: stopped })
      const { rows } = await this.readRows(range, step)
      if (!stopped.aborted) this.detail.value = { step, rows: [toFirstRow(data), ...rows] }
    }, stopped)
  }

  // By the whole window, so that buckets keep their length while it passes.
  private wholeStep(): number {
    const { value: extent } = this.session.extent
    const to = this.session.closes.value ?? extent?.to ?? 0
    return INTERVAL_MICROS[chooseInterval(to - (extent?.from ?? to))]
  }

  /** Reads the whole range. */
  async load(): Promise<void> {
    const { signal: stopped } = this.session.stopping
    await retryLoad(
      () => this.readAll(),
      stopped,
      (trouble) => (this.trouble.value = trouble),
    )
  }

  /** Reads what is new up to an instant. */
  async extend(to: number): Promise<void> {
    const { signal: stopped } = this.session.stopping
    try {
      if (performance.now() - this.loadedAt > RELOAD_MS) await this.readAll()
      else await this.readNew(to)
    } catch (error) {
      if (!stopped.aborted) this.trouble.value = toTrouble(error)
    }
  }

  private async readAll(): Promise<void> {
    const range = this.session.extent.peek()
    if (range === undefined) return
    const { rows, gaps } = await this.readRows(range)
    const from = Math.max(range.from, range.to - MAX_EDGES)
    const { spans, hasMore } = await this.readSpans(from, range.to)
    batch(() => {
      this.rows.value = rows
      this.allGaps.value = gaps
      this.spans.value = spans
      this.hasMoreSpans.value = hasMore
      this.until.value = range.to
      this.isLoaded.value = true
      this.trouble.value = undefined
    })
    this.loadedAt = performance.now()
  }

  private async readNew(to: number): Promise<void> {
    const from = this.until.peek()
    const last = this.rows.peek().at(-1)
    const start = last === undefined ? from : microsOf(last.bucket_start)
    const { rows, gaps } = await this.readRows({ from: start, to })
    const { spans } = await this.readSpans(from, to)
    batch(() => {
      this.rows.value = withRows(this.rows.peek(), rows)
      this.allGaps.value = gaps.reduce(withGap, this.allGaps.peek())
      this.spans.value = joinSpans(this.spans.peek(), spans)
      this.until.value = to
      this.trouble.value = undefined
    })
  }

  private async readRows({ from, to }: Range, step = this.wholeStep()) {
    const { contractId, stopping } = this.session
    const interval = INTERVALS.find((name) => INTERVAL_MICROS[name] === step)!
    const params = {
      interval,
      start_time: Math.floor(from / step) * step,
      end_time: to + 1,
      limit: 1000,
    }
    const { client, note } = this.panels.snapshots
    note('contractSnapshots', params, contractId)
    const page = await client
      .contractSnapshots(contractId, params, { signal: stopping.signal })
      .page()
    return { rows: page.data, gaps: (page.meta['member_gaps'] ?? []) as readonly GapJson[] }
  }

  private async readSpans(from: number, to: number) {
    const { contractId, stopping } = this.session
    const { client, note } = this.panels.spreads
    const params = { start_time: from, end_time: to, limit: 1000 }
    const spans: SpreadJson[] = []
    let resume: string | undefined
    if (to <= from) return { spans, hasMore: false }
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      note('contractSpreads', params, contractId)
      const walk = client.contractSpreads(contractId, params, { signal: stopping.signal, resume })
      const page = await walk.page()
      spans.push(...page.data)
      if (page.resume === null) return { spans, hasMore: false }
      resume = page.resume
    }
    return { spans, hasMore: true }
  }
}
