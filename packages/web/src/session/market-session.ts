import { batch, computed, effect, signal, untracked, type ReadonlySignal } from '@preact/signals'
import {
  OrderBook,
  type LiveMessage,
  type MarketRef,
  type NoticeJson,
  type RevisionJson,
} from '@priorbook/sdk/client'
import type { GapJson, InstrumentCoverageJson, MarketJson, TradeJson } from '@priorbook/sdk/wire'
import { createPanel } from '../app/panel.ts'
import { toTrouble, type Trouble } from '../app/trouble.ts'
import { toBook, type Book } from '../model/book.ts'
import { gapAt, gapsOfInstrument, withGap, type GapSpan } from '../model/gap.ts'
import { microsOf, microsOrAbsent, MINUTE, SECOND } from '../model/time.ts'
import { toSource } from '../model/snippet.ts'
import { openLiveLink, type LiveLink } from './live-link.ts'
import { outcomesOf } from './outcomes.ts'
import { Replayer } from './replayer.ts'

const RETRY_MS = 3000
const MOST_TRADES = 60
const CALM_MS = 120
const TELL_MS = 25

/** Everything that one market page shows, at the present or at any instant of the past. */
export class MarketSession {
  readonly ref: MarketRef
  readonly panels = {
    market: createPanel(),
    book: createPanel(),
    gaps: createPanel(),
    revisions: createPanel(),
    trades: createPanel(),
  }
  readonly record = signal<MarketJson | undefined>(undefined)
  readonly instruments = signal<readonly InstrumentCoverageJson[]>([])
  readonly gaps = signal<readonly GapJson[]>([])
  readonly revisions = signal<readonly RevisionJson[]>([])
  readonly trades = signal<readonly TradeJson[]>([])
  /** The newest executions at the instant of the past. */
  readonly pastTrades = signal<readonly TradeJson[]>([])
  readonly notices = signal<readonly NoticeJson[]>([])
  readonly trouble = signal<Trouble | undefined>(undefined)
  readonly isLoaded = signal(false)
  /** The instant that is shown; absent while the page follows the present. */
  readonly time = signal<number | undefined>(undefined)
  /** Books by instrument at that instant; counts up whenever one of them changed. */
  readonly version = signal(0)
  /** Why there is no book at the instant, in the server's words. */
  readonly bookNotices = signal<readonly NoticeJson[]>([])
  /** The present, as the newest message tells it. */
  readonly present = signal(Date.now() * 1000)
  readonly link = signal<LiveLink | undefined>(undefined)
  private readonly firstHeard = signal<number | undefined>(undefined)
  readonly replayer: Replayer
  private readonly views = new Map<string, InstrumentView>()
  private readonly orders = new Map<string, OrderBook>()
  private readonly pastOrders = new Map<string, OrderBook>()
  private readonly stopping = new AbortController()
  private frame = 0
  private toldAt = 0
  private calmAt = 0
  private readonly calm = signal(0)
  private readonly disposers: (() => void)[] = []

  /** The instant of the page in any case. */
  readonly clock = computed(() => this.time.value ?? this.present.value)
  readonly isLive = computed(() => this.time.value === undefined)
  /** The same by whole seconds, for what does not change from frame to frame. */
  readonly second = computed(() => Math.floor(this.clock.value / SECOND) * SECOND)
  readonly outcomes = computed(() => {
    const { value: record } = this.record
    return record === undefined ? undefined : outcomesOf(record)
  })
  /** From the first to the last observation of any instrument. */
  readonly extent = computed(() => {
    let from = Infinity
    let to = -Infinity
    for (const { first_time, last_time } of this.instruments.value) {
      from = Math.min(from, microsOrAbsent(first_time) ?? Infinity)
      to = Math.max(to, microsOrAbsent(last_time) ?? -Infinity)
    }
    const { value: first } = this.firstHeard
    if (first !== undefined) from = Math.min(from, first)
    return from === Infinity ? undefined : { from, to: Math.max(from, to) }
  })
  /** The record as it was known at the instant. */
  readonly known = computed(() => {
    if (this.isLive.value) return this.record.value
    const end = this.second.value + SECOND
    const before = this.revisions.value.filter((one) => microsOf(one.revision_time) <= end)
    return before.at(-1) ?? this.revisions.value[0] ?? this.record.value
  })
  /** True when the market trades at the present, as far as it is known. */
  readonly isOpen = computed(() => {
    const { value: record } = this.record
    const close = microsOrAbsent(record?.close_time)
    const { value: extent } = this.extent
    const isOld = extent !== undefined && this.present.value - extent.to > 10 * MINUTE
    const isPast = extent !== undefined && Date.now() * 1000 - this.present.value > 10 * MINUTE
    return (
      record !== undefined &&
      !isOld &&
      !isPast &&
      (record.status === 'open' || record.status === null || record.status === 'scheduled') &&
      (close === undefined || close > this.present.value - 5 * SECOND)
    )
  })

  constructor(ref: MarketRef, time?: number) {
    this.ref = ref
    this.time.value = time
    this.replayer = new Replayer(this)
    void this.load()
  }

  /** The book of an instrument at the instant; absent in a gap and where nothing is known. */
  bookOf(key: string): Book | undefined {
    return this.viewOf(key).book.value
  }

  /** The gap that the instrument lies in at the instant. */
  gapOf(key: string): GapSpan | undefined {
    return this.viewOf(key).gap.value
  }

  /** All gaps that concern an instrument. */
  gapsOf(key: string): readonly GapSpan[] {
    return this.viewOf(key).gaps.value
  }

  // Made once an instrument: several panels ask for the same book in the same frame.
  private viewOf(key: string): InstrumentView {
    let view = this.views.get(key)
    if (view !== undefined) return view
    const gaps = computed(() => gapsOfInstrument(this.gaps.value, key, this.ref.market_id))
    const gap = computed(() => gapAt(gaps.value, this.clock.value))
    const book = computed(() => {
      void this.version.value
      const order = (this.isLive.value ? this.orders : this.pastOrders).get(key)
      return order === undefined || gap.value !== undefined ? undefined : toBook(order)
    })
    view = { gaps, gap, book }
    this.views.set(key, view)
    return view
  }

  /** Shows an instant, and asks for its books. */
  seek(time: number): void {
    this.replayer.seek(time)
  }

  /** Follows the present again. */
  goLive(): void {
    this.replayer.stop()
    batch(() => {
      this.time.value = undefined
      this.bookNotices.value = []
      this.version.value++
    })
  }

  /** Replaces the books of the past; what is absent is not known. */
  putBooks(rows: Iterable<Parameters<OrderBook['applyRow']>[0] & { readonly id: string }>): void {
    this.pastOrders.clear()
    for (const row of rows) this.takePast(keyOf(row.id), row)
  }

  /** Takes a row of a replay. */
  takePast(key: string, row: Parameters<OrderBook['applyRow']>[0]): void {
    let order = this.pastOrders.get(key)
    if (order === undefined || !('changes' in row)) {
      if ('changes' in row && !isRestart(row)) return
      this.pastOrders.set(key, (order = new OrderBook(row.venue)))
    }
    order.applyRow(row)
    this.changed()
  }

  forgetPast(key: string | null): void {
    if (key === null) this.pastOrders.clear()
    else this.pastOrders.delete(key)
    this.changed()
  }

  /** Tells the page at most every second frame, however many rows came: no eye reads faster. */
  changed(): void {
    if (this.frame !== 0) return
    this.frame = requestAnimationFrame((now) => {
      this.frame = 0
      if (now - this.toldAt < TELL_MS) {
        this.changed()
        return
      }
      this.toldAt = now
      batch(() => {
        this.version.value++
        if (now - this.calmAt > CALM_MS) {
          this.calmAt = now
          this.calm.value++
        }
      })
    })
  }

  /** The book as it was a moment ago, for figures that would flicker. */
  calmBookOf(key: string): Book | undefined {
    void this.calm.value
    void this.second.value
    return untracked(() => this.bookOf(key))
  }

  close(): void {
    this.stopping.abort()
    this.link.peek()?.stop()
    this.replayer.stop()
    cancelAnimationFrame(this.frame)
    for (const dispose of this.disposers) dispose()
  }

  private async load(): Promise<void> {
    const { signal: stopped } = this.stopping
    for (;;) {
      try {
        await this.loadOnce(stopped)
        break
      } catch (error) {
        if (stopped.aborted) return
        const trouble = toTrouble(error)
        this.trouble.value = trouble
        if (!trouble.isPassing) return
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
        if (stopped.aborted) return
      }
    }
    this.trouble.value = undefined
    this.isLoaded.value = true
    this.openLink()
    // Pictures first: a plan may allow one request a second.
    setTimeout(() => void this.loadRest())
    if (this.time.peek() !== undefined) this.seek(this.time.peek()!)
    this.disposers.push(
      effect(() => {
        // A second tick for a market in which nothing happens.
        if (this.isLive.value) this.startTicking()
      }),
    )
  }

  private async loadOnce(stopped: AbortSignal): Promise<void> {
    const { venue, market_id: market } = this.ref
    const options = { signal: stopped }
    const { client, note } = this.panels.market
    note('coverage', { venue, market })
    const coverage = await client.coverage({ venue, market }, options)
    const record = coverage.meta.market
    batch(() => {
      this.instruments.value = coverage.data.filter((one) => one.kind === 'instrument')
      this.notices.value = coverage.notices
      if (record !== null) this.record.value = record
    })
    await this.loadGaps()
  }

  private async loadRest(): Promise<void> {
    for (const load of [() => this.loadRevisions(), () => this.loadTrades()]) {
      while (!this.stopping.signal.aborted) {
        try {
          await load()
          break
        } catch (error) {
          if (!toTrouble(error).isPassing) break
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
        }
      }
    }
  }

  /** Asks for the gaps again: those that open are told, some are known only later. */
  async loadGaps(): Promise<void> {
    const { venue, market_id: market } = this.ref
    const { client, note } = this.panels.gaps
    note('gaps', { venue, market })
    this.gaps.value = await client.gaps({ venue, market }, this.options).toArray()
  }

  /** Asks for the versions of the record. */
  async loadRevisions(): Promise<void> {
    const { client, note } = this.panels.revisions
    note(`client.market(${this.refSource}).revisions`)
    const walk = client.market(this.marketRef).revisions({}, this.options)
    this.revisions.value = (await walk.page()).data
  }

  private async loadTrades(): Promise<void> {
    if (this.ref.venue === 'venuea') return
    const { client, note } = this.panels.trades
    const params = { order: 'desc', limit: MOST_TRADES } as const
    note(`client.market(${this.refSource}).trades`, params)
    this.trades.value = (
      await client.market(this.marketRef).trades(params, this.options).page()
    ).data
  }

  /** Asks for the executions before an instant of the past. */
  async loadPastTrades(at: number): Promise<void> {
    if (this.ref.venue === 'venuea') return
    const { client, note } = this.panels.trades
    const params = { end_time: Math.round(at) + 1, order: 'desc', limit: MOST_TRADES } as const
    note(`client.market(${this.refSource}).trades`, params)
    const page = await client.market(this.marketRef).trades(params, this.options).page()
    this.pastTrades.value = page.data
  }

  /** Takes an execution of a replay. */
  takePastTrade(trade: TradeJson): void {
    this.pastTrades.value = [trade, ...this.pastTrades.peek()].slice(0, MOST_TRADES)
  }

  /** The market with its asset, which the address of venue C holds. */
  get marketRef(): MarketRef {
    const record = this.record.peek()
    const asset = record !== undefined && 'asset' in record ? record.asset : undefined
    return { ...this.ref, ...(asset === undefined ? {} : { asset }) }
  }

  /** The same as source text. */
  get refSource(): string {
    return toSource(this.marketRef)
  }

  get options(): { readonly signal: AbortSignal } {
    return { signal: this.stopping.signal }
  }

  private openLink(): void {
    const { venue, market_id } = this.ref
    const { client } = this.panels.book
    this.link.value = openLiveLink(
      client,
      [{ venue, market_id, mode: 'changes', number_format: 'string', time_format: 'epoch_us' }],
      (message) => this.hear(message),
      (stopped) => this.poll(stopped),
    )
  }

  private hear(message: LiveMessage): void {
    switch (message.type) {
      case 'snapshot':
      case 'update': {
        const { key, row } = message
        let order = this.orders.get(key)
        if (order === undefined) this.orders.set(key, (order = new OrderBook(row.venue)))
        if (message.type === 'snapshot') order.applyRow(row)
        else order.apply(message)
        this.observed(microsOf(row.received_time))
        break
      }
      case 'trade':
        this.trades.value = [message.row, ...this.trades.peek()].slice(0, MOST_TRADES)
        break
      case 'gap': {
        this.gaps.value = withGap(this.gaps.peek(), message.gap)
        if (message.gap.end_time === null) this.orders.get(message.gap.key ?? '')?.clear()
        this.changed()
        break
      }
      case 'market':
        this.record.value = message.row
        void this.loadRevisions().catch(() => undefined)
        break
      case 'resync':
        this.orders.get(message.key)?.clear()
        break
      case 'disconnected':
        // Whatever happens meanwhile is not seen: books are taken up again from a whole one.
        this.changed()
        break
      case 'welcome':
        void this.loadGaps().catch(() => undefined)
        break
      default:
        break
    }
  }

  private async poll(stopped: AbortSignal): Promise<void> {
    const { client, note } = this.panels.book
    note(`client.market(${this.refSource}).latest`)
    const { data } = await client.market(this.marketRef).latest({}, { signal: stopped })
    for (const row of data) {
      const order = new OrderBook(row.venue)
      order.applyRow(row)
      this.orders.set(keyOf(row.id), order)
      this.observed(microsOf(row.received_time))
    }
  }

  private observed(received: number): void {
    this.firstHeard.value ??= received
    this.newest = Math.max(this.newest, received)
    this.changed()
  }

  private newest = 0

  // The present goes on between messages, while the market is open; a closed one stays at its end.
  private startTicking(): void {
    const tick = (): void => {
      if (this.stopping.signal.aborted || !this.isLive.peek()) return
      const extent = this.extent.peek()
      const last = Math.max(this.newest, extent?.to ?? 0)
      const wall = Date.now() * 1000
      const close = microsOrAbsent(this.record.peek()?.close_time) ?? Infinity
      const end = Math.min(wall, close)
      // Data of another time, such as imported ones, have their present at their end.
      this.present.value =
        last === 0 ? wall : wall - last > 10 * MINUTE ? last : Math.max(last, end)
      setTimeout(tick, 250)
    }
    tick()
  }
}

type InstrumentView = {
  readonly gaps: ReadonlySignal<readonly GapSpan[]>
  readonly gap: ReadonlySignal<GapSpan | undefined>
  readonly book: ReadonlySignal<Book | undefined>
}

/** The instrument of a row id, `venue:instrument:sequence`. */
export function keyOf(id: string): string {
  return id.slice(id.indexOf(':') + 1, id.lastIndexOf(':'))
}

function isRestart({ flags }: { readonly flags?: unknown }): boolean {
  return Array.isArray(flags) && flags.includes('restart')
}
