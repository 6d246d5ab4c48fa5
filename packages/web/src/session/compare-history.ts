import { batch, computed, signal } from '@preact/signals'
import type { ContractSnapshotJson, SpreadJson } from '@priorbook/sdk/client'
import type { GapJson } from '@priorbook/sdk/wire'
import { createPanel } from '../app/panel.ts'
import { retryLoad, toTrouble, type Trouble } from '../app/trouble.ts'
import { commonGaps, gapsOfMember, toPoints, withRows } from '../model/compare-lines.ts'
import { joinSpans } from '../model/edge.ts'
import { withGap } from '../model/gap.ts'
import { chooseInterval, INTERVAL_MICROS } from '../model/history.ts'
import { DAY, microsOf, MINUTE } from '../model/time.ts'
import type { Range } from './chart-store.ts'
import type { CompareTarget } from './compare-target.ts'
import type { TimeStore } from './time-store.ts'

// The longest range that edges are searched in.
const MAX_EDGES = 7 * DAY
// Max pages of edges: 1,000 each.
const MAX_PAGES = 5
// A gap is found after it has begun, so everything is read again from time to time.
const RELOAD_MS = 60_000

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

  readonly memberGaps = computed(() =>
    (this.session.contract.value?.members ?? []).map((member) =>
      gapsOfMember(this.allGaps.value, member),
    ),
  )
  /** Time in which no member was observed. */
  readonly gaps = computed(() => commonGaps(this.memberGaps.value))
  readonly range = computed<Range | undefined>(() => {
    const { value: extent } = this.session.extent
    if (extent === undefined) return undefined
    return { from: extent.from, to: Math.max(extent.to, extent.from + MINUTE / 2) }
  })
  readonly points = computed(() =>
    this.memberGaps.value.map((gaps, place) =>
      toPoints(this.rows.value, place, gaps, this.until.value),
    ),
  )

  constructor(session: CompareTarget) {
    this.session = session
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

  private async readRows({ from, to }: Range) {
    const { contractId, stopping, closes, extent } = this.session
    const first = extent.peek()?.from ?? from
    // By the whole window, so that buckets keep their length while it passes.
    const interval = chooseInterval((closes.peek() ?? to) - first)
    const step = INTERVAL_MICROS[interval]
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
