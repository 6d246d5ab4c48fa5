import { computed, effect, signal } from '@preact/signals'
import { VENUES } from '@priorbook/sdk/domain'
import type { SampleJson } from '@priorbook/sdk/wire'
import { createPanel } from '../app/panel.ts'
import { RETRY_MS, toTrouble, type Trouble } from '../app/trouble.ts'
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
import { microsOf, microsOrAbsent, MINUTE } from '../model/time.ts'
import type { MarketSession } from './market-session.ts'

/** The span of time that charts show. */
export type Range = { readonly from: number; readonly to: number }

/** The sampled metrics, each a line of its own. */
export const METRICS = ['chance', 'price', 'last_trade'] as const

/** Samples of one metric. */
export type SampleLine = { readonly time: readonly number[]; readonly value: readonly number[] }

// How often the newest book extends the history.
const LIVE_MS = 500
const SAMPLES_MS = 5000

/** The data of a market's charts: sampled books of one outcome over one span. */
export class ChartStore {
  readonly panel = createPanel()
  readonly samplesPanel = createPanel()
  readonly outcome = signal<0 | 1>(0)
  /** The span that the visitor chose; absent for everything recorded. */
  readonly zoom = signal<Range | undefined>(undefined)
  readonly history = signal<History | undefined>(undefined)
  readonly samples = signal<Partial<Record<(typeof METRICS)[number], SampleLine>>>({})
  readonly isLoading = signal(false)
  readonly trouble = signal<Trouble | undefined>(undefined)
  readonly session: MarketSession
  private readonly stopping = new AbortController()
  private readonly disposers: (() => void)[] = []
  private loading: AbortController | undefined
  private lastLive = 0

  readonly range = computed<Range | undefined>(() => {
    if (this.zoom.value !== undefined) return this.zoom.value
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
  readonly gaps = computed(() => {
    const view = this.session.outcomes.value?.[this.outcome.value]
    return view === undefined ? [] : this.session.gapsOf(view.key)
  })
  /** The book of every bucket of the history. */
  readonly columns = computed<readonly (Column | undefined)[]>(() => {
    const { value: history } = this.history
    if (history === undefined) return []
    const end = Math.max(this.session.extent.value?.to ?? 0, this.livePresent.value)
    return carryForward(history, this.gaps.value, end)
  })
  private readonly livePresent = signal(0)

  constructor(session: MarketSession) {
    this.session = session
    // What the loaded history depends on; the moving end of the present is not part of it.
    const query = computed(() => {
      const { value: zoom } = this.zoom
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
    )
    if (VENUES[session.ref.venue].metrics.length > 0) this.followSamples()
  }

  close(): void {
    this.stopping.abort()
    this.loading?.abort()
    for (const dispose of this.disposers) dispose()
  }

  /** Shows a span around the instant, or everything. */
  show(span: number | 'all' | 'lifetime'): void {
    if (span === 'all') {
      this.zoom.value = undefined
      return
    }
    if (span === 'lifetime') {
      this.zoom.value = this.lifetime.peek()
      return
    }
    const clock = this.session.clock.peek()
    const extent = this.session.extent.peek()
    const end = Math.max(extent?.to ?? clock, this.session.present.peek())
    const to = Math.min(end, clock + span / 2)
    this.zoom.value = { from: to - span, to }
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
    note(`client.market(${this.session.refSource}).snapshots`, params)
    try {
      const walk = client.market(this.session.marketRef).snapshots(params, { signal })
      const page = await walk.page()
      if (signal.aborted) return
      const history = toHistory(venue, page.data, { ...range, step })
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

  // Adds the newest book as the newest column, a few times a second.
  private extend(): void {
    const now = performance.now()
    const { session } = this
    if (!session.isLive.peek() || now - this.lastLive < LIVE_MS) return
    const history = this.history.peek()
    const view = session.outcomes.peek()?.[this.outcome.peek()]
    if (history === undefined || view === undefined || !session.isOpen.peek()) return
    this.lastLive = now
    const zoom = this.zoom.peek()
    const book = session.bookOf(view.key)
    this.livePresent.value = session.present.peek()
    if (book === undefined || (zoom !== undefined && book.received > zoom.to)) return
    const column = columnOfBook(book)
    const grown = withColumn(
      history,
      view.isComplement ? complementColumn(column, history.decimals) : column,
      session.present.peek(),
    )
    if (grown.columns.length > MAX_BUCKETS * 1.3) void this.load()
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
    for (const metric of METRICS) {
      const params = {
        metric,
        order: 'desc' as const,
        limit: 1000,
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
  }
}

function complement(history: History): History {
  const columns = history.columns.map((column) =>
    column === undefined ? undefined : complementColumn(column, history.decimals),
  )
  return { ...history, columns }
}
