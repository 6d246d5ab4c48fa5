import { computed, effect, signal, type ReadonlySignal } from '@preact/signals'
import { VENUES } from '@priorbook/sdk/domain'
import type { SampleJson } from '@priorbook/sdk/wire'
import { createPanel } from '../app/panel.ts'
import { RETRY_MS, toTrouble, type Trouble } from '../app/trouble.ts'
import { printDecimal } from '../model/decimal.ts'
import {
  carryForward,
  chooseDepth,
  chooseInterval,
  columnOfBook,
  complementColumn,
  INTERVAL_MICROS,
  MAX_BUCKETS,
  toHistory,
  withColumn,
  type Column,
  type History,
} from '../model/history.ts'
import type { ExportScope } from '../model/export.ts'
import { gapAt } from '../model/gap.ts'
import { joinRanges, type Range } from '../model/range.ts'
import { microsOf, microsOrAbsent, MINUTE } from '../model/time.ts'
import { ChartView } from './chart-view.ts'
import type { MarketSession } from './market-session.ts'

/** The sampled metrics, each a line of its own. */
export const METRICS = ['chance', 'price', 'last_trade'] as const

/** Samples of one metric; texts have every digit. */
export type SampleLine = {
  readonly time: readonly number[]
  readonly value: readonly number[]
  readonly text: readonly string[]
}

// How often the newest book extends the history.
const LIVE_MS = 500
const SAMPLES_MS = 5000

/** The data of a market's charts: sampled books of one outcome over one span. */
export class ChartStore {
  readonly panel = createPanel()
  readonly samplesPanel = createPanel()
  readonly outcome = signal<0 | 1>(0)
  readonly history = signal<History | undefined>(undefined)
  readonly samples = signal<Partial<Record<(typeof METRICS)[number], SampleLine>>>({})
  readonly isLoading = signal(false)
  readonly trouble = signal<Trouble | undefined>(undefined)
  readonly session: MarketSession
  private readonly stopping = new AbortController()
  private readonly disposers: (() => void)[] = []
  private loading: AbortController | undefined
  private lastLive = 0

  /** Everything recorded. */
  private readonly recorded = computed<Range | undefined>(() => {
    const { value: extent } = this.session.extent
    if (extent === undefined) return undefined
    const to = Math.max(extent.to, this.session.present.value)
    return { from: extent.from, to: Math.max(to, extent.from + MINUTE / 2) }
  })
  /** From opening to close of the market; absent where its record does not say. */
  readonly lifetime = computed<Range | undefined>(() => {
    const record = this.session.record.value
    const from = microsOrAbsent(record?.open_time)
    const to = microsOrAbsent(record?.close_time)
    return from === undefined || to === undefined || to <= from ? undefined : { from, to }
  })
  readonly view: ChartView
  readonly range: ReadonlySignal<Range | undefined>
  readonly gaps = computed(() => {
    const view = this.session.outcomes.value?.[this.outcome.value]
    return view === undefined ? [] : this.session.gapsOf(view.key)
  })
  /** The book of every bucket of the history. */
  readonly columns = computed<readonly (Column | undefined)[]>(() => {
    const { value: history } = this.history
    return history === undefined ? [] : carryForward(history, this.gaps.value, this.known.value)
  })
  private readonly livePresent = signal(0)
  /** Up to when books are known. */
  private readonly known = computed(() =>
    Math.max(this.session.extent.value?.to ?? 0, this.livePresent.value),
  )

  constructor(session: MarketSession, zoom?: Range, outcome: 0 | 1 = 0) {
    this.session = session
    this.outcome.value = outcome
    const limits = computed(() => joinRanges([this.recorded.value, this.lifetime.value]))
    this.view = new ChartView(this.recorded, limits, zoom)
    this.range = this.view.range
    // What the loaded history depends on; the moving end of the present is not part of it.
    const query = computed(() => {
      const { value: zoom } = this.view.settled
      const { value: extent } = this.session.extent
      const view = this.session.outcomes.value?.[this.outcome.value]
      if (view === undefined || extent === undefined || !this.session.isLoaded.value) return ''
      return JSON.stringify([zoom ?? extent.from, view.key, view.isComplement])
    })
    this.disposers.push(
      effect(() => {
        if (query.value !== '') queueMicrotask(() => void this.load())
      }),
      effect(() => {
        void this.session.refresh.ladders.value
        void this.session.present.value
        this.extend()
      }),
      effect(() => {
        const step = this.history.value?.step ?? 1
        this.view.sampled.value = { step, last: this.known.value }
      }),
      () => this.view.close(),
    )
    if (VENUES[session.ref.venue].metrics.length > 0) this.followSamples()
  }

  close(): void {
    this.stopping.abort()
    this.loading?.abort()
    for (const dispose of this.disposers) dispose()
  }

  /** What a file of a dataset of this market has. */
  scopeOf(dataset: 'books' | 'trades' | 'samples' | 'reference', more = {}): ExportScope {
    const { venue, market_id } = this.session.ref
    const own = dataset === 'reference' ? { venue } : { venue, market_id }
    const shown = this.view.zoom.peek()
    return { params: { ...own, dataset, ...more }, shown, all: this.recorded.peek() }
  }

  /** Shows a span around the instant. */
  showAround(span: number): void {
    const clock = this.session.clock.peek()
    const end = Math.max(this.session.extent.peek()?.to ?? clock, this.session.present.peek())
    const to = Math.min(end, clock + span / 2)
    this.view.show({ from: to - span, to })
  }

  /** The book at an instant of the crosshair, and why there is none. */
  columnAt(time: number): Column | string {
    const history = this.history.peek()
    const column =
      this.columns.peek()[Math.floor((time - (history?.from ?? 0)) / (history?.step ?? 1))]
    const gap = gapAt(this.gaps.peek(), time)
    if (gap !== undefined) return gap.reason.replaceAll('_', ' ')
    return column ?? 'nothing recorded'
  }

  private async load(): Promise<void> {
    this.loading?.abort()
    const stop = (this.loading = new AbortController())
    const signal = AbortSignal.any([stop.signal, this.stopping.signal])
    if (signal.aborted) return
    const range = this.range.peek()
    const view = this.session.outcomes.peek()?.[this.outcome.peek()]
    if (range === undefined || view === undefined) return
    this.isLoading.value = true
    const interval = chooseInterval(range.to - range.from)
    const step = INTERVAL_MICROS[interval]
    const { venue } = this.session.ref
    const params = {
      interval,
      start_time: Math.floor(range.from / step) * step,
      end_time: Math.ceil((range.to + 1) / step) * step,
      include_orderbook: true,
      depth: chooseDepth((range.to - range.from) / step),
      limit: 1000,
      ...(VENUES[venue].booksPer === 'token' && view.tokenId !== undefined
        ? { token_id: view.tokenId }
        : {}),
    }
    const { client, note } = this.panel
    const market = client.market(this.session.marketRef)
    try {
      const first = await this.bookBefore(params, signal)
      note(`client.market(${this.session.refSource}).snapshots`, params)
      const page = await market.snapshots(params, { signal }).page()
      if (signal.aborted) return
      const history = toHistory(venue, page.data, { ...range, step }, first)
      this.history.value = view.isComplement ? complement(history) : history
      this.trouble.value = undefined
      this.isLoading.value = false
      this.extend()
    } catch (error) {
      if (signal.aborted) return
      const trouble = toTrouble(error)
      this.trouble.value = trouble
      this.isLoading.value = false
      if (trouble.isTemporary) setTimeout(() => signal.aborted || void this.load(), RETRY_MS)
    }
  }

  // The book that is valid where a chosen span begins; it may have been received long before.
  private async bookBefore(
    params: { readonly start_time: number; readonly depth: number; readonly token_id?: string },
    signal: AbortSignal,
  ) {
    if (this.view.settled.peek() === undefined) return undefined
    const { start_time: at, depth, token_id } = params
    const query = { at, depth, ...(token_id === undefined ? {} : { token_id }) }
    const { client, note } = this.panel
    note(`client.market(${this.session.refSource}).asOf`, query)
    const { data } = await client.market(this.session.marketRef).asOf(query, { signal })
    return data[0]
  }

  // Adds the newest book as the newest column, a few times a second.
  private extend(): void {
    const now = performance.now()
    const { session } = this
    if (!session.isLive.peek() || now - this.lastLive < LIVE_MS) return
    const history = this.history.peek()
    const view = session.outcomes.peek()?.[this.outcome.peek()]
    if (history === undefined || view === undefined || !session.isOpen.peek()) return
    this.lastLive = now
    const zoom = this.view.zoom.peek()
    const book = session.bookOf(view.key)
    this.livePresent.value = session.present.peek()
    if (book === undefined || (zoom !== undefined && book.received > zoom.to)) return
    const column = columnOfBook(book)
    const grown = withColumn(
      history,
      view.isComplement ? complementColumn(column, history.decimals) : column,
      Math.min(session.present.peek(), zoom?.to ?? Infinity),
    )
    // A chosen span keeps its step; only a chart that follows the present gets a coarser one.
    if (zoom === undefined && grown.columns.length > MAX_BUCKETS * 1.3) void this.load()
    else this.history.value = grown
  }

  private followSamples(): void {
    let timer: ReturnType<typeof setTimeout> | undefined
    const poll = async (): Promise<void> => {
      try {
        if (this.session.isLoaded.peek()) await this.loadSamples()
      } catch {
        // The next poll tries again.
      }
      if (this.stopping.signal.aborted) return
      const isGrowing = this.session.isOpen.peek() || this.samples.peek().chance === undefined
      if (isGrowing) timer = setTimeout(() => void poll(), SAMPLES_MS)
    }
    this.disposers.push(
      effect(() => {
        if (!this.session.isLoaded.value) return
        void this.outcome.value
        void this.view.settled.value
        clearTimeout(timer)
        queueMicrotask(() => void poll())
      }),
      () => clearTimeout(timer),
    )
  }

  private async loadSamples(): Promise<void> {
    const { session } = this
    const view = session.outcomes.peek()?.[this.outcome.peek()]
    if (view === undefined) return
    const lines: Partial<Record<(typeof METRICS)[number], SampleLine>> = {}
    const zoom = this.view.settled.peek()
    for (const metric of METRICS) {
      const params = {
        metric,
        order: 'desc' as const,
        limit: 1000,
        // The newest ones up to the end of the span: their first is what was valid at its beginning.
        ...(zoom === undefined ? {} : { end_time: zoom.to + 1 }),
        ...(view.tokenId === undefined ? {} : { token_id: view.tokenId }),
      }
      const { client, note } = this.samplesPanel
      note(`client.market(${session.refSource}).timeseries`, params)
      const walk = client
        .market(session.marketRef)
        .timeseries(params, { signal: this.stopping.signal })
      const { data } = await walk.page()
      lines[metric] = toLine(data, metric)
    }
    this.samples.value = lines
  }
}

function toLine(rows: readonly SampleJson[], metric: (typeof METRICS)[number]): SampleLine {
  const ascending = rows.toReversed()
  return {
    time: ascending.map((row) => microsOf(row.received_time)),
    value: ascending.map((row) => Number(row[metric])),
    text: ascending.map((row) => printDecimal(row[metric])),
  }
}

function complement(history: History): History {
  const columns = history.columns.map((column) =>
    column === undefined ? undefined : complementColumn(column, history.decimals),
  )
  const { before } = history
  return {
    ...history,
    columns,
    before: before === undefined ? undefined : complementColumn(before, history.decimals),
  }
}
