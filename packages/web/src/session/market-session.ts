import { batch, computed, effect, signal, untracked, type ReadonlySignal } from '@preact/signals'
import {
  OrderBook,
  type FullRow,
  type LiveMessage,
  type MarketRef,
  type NoticeJson,
  type RevisionJson,
} from '@priorbook/sdk/client'
import type { GapJson, InstrumentCoverageJson, MarketJson, TradeJson } from '@priorbook/sdk/wire'
import { createPanel } from '../app/panel.ts'
import { retryLoad, type Trouble } from '../app/trouble.ts'
import { toBook, type Book } from '../model/book.ts'
import { gapAt, gapsOfInstrument, withGap, type GapSpan } from '../model/gap.ts'
import { microsOf, microsOrAbsent, MINUTE, SECOND } from '../model/time.ts'
import { toSource } from '../model/snippet.ts'
import { LiveLink } from './live-link.ts'
import { outcomesOf } from './outcomes.ts'
import { RefreshSchedule } from './refresh-schedule.ts'
import { MAX_TRADES, type ReplayChanges } from './replay-books.ts'
import { Replayer, type ReplayTarget } from './replayer.ts'

// Data whose last row is older than this belongs to the past, such as imported recordings.
const PAST_AFTER = 10 * MINUTE
// How long after its close a market still counts as open, for late messages.
const CLOSE_GRACE = 5 * SECOND

/** Which time a page shows. */
export type Moment = 'now' | 'ended' | 'past' | 'replay'

/** The data of a market page, at the present or at any instant of the past. */
export class MarketSession implements ReplayTarget {
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
  /** The instant shown; absent while the page follows the present. */
  readonly time = signal<number | undefined>(undefined)
  readonly refresh = new RefreshSchedule(() => this.showTrades())
  /** The server's notices about the books of the instant. */
  readonly bookNotices = signal<readonly NoticeJson[]>([])
  /** The time of the newest message, or the wall clock. */
  readonly present = signal(Date.now() * 1000)
  readonly link = signal<LiveLink | undefined>(undefined)
  private readonly firstReceived = signal<number | undefined>(undefined)
  readonly replayer: Replayer
  private readonly views = new Map<string, InstrumentView>()
  private readonly orders = new Map<string, OrderBook>()
  private readonly pastBooks = new Map<string, Book>()
  private newTrades: readonly TradeJson[] = []
  private tradeRequests = 0
  private readonly stopping = new AbortController()
  private readonly disposers: (() => void)[] = []

  /** The instant shown, past or present. */
  readonly clock = computed(() => this.time.value ?? this.present.value)
  readonly isLive = computed(() => this.time.value === undefined)
  /** The same, but while it plays only as often as ladders or figures are refreshed, and together with them. */
  readonly throttledClock = computed(() => {
    void this.refresh.ladders.value
    void this.refresh.figures.value
    return this.replayer.isPlaying.value ? untracked(() => this.clock.value) : this.clock.value
  })
  /** The same in whole seconds. */
  readonly second = computed(() => Math.floor(this.throttledClock.value / SECOND) * SECOND)
  readonly outcomes = computed(() => {
    const { value: record } = this.record
    return record === undefined ? undefined : outcomesOf(record)
  })
  /** From the first to the last row of any instrument. */
  readonly extent = computed(() => {
    let from = Infinity
    let to = -Infinity
    for (const { first_time, last_time } of this.instruments.value) {
      from = Math.min(from, microsOrAbsent(first_time) ?? Infinity)
      to = Math.max(to, microsOrAbsent(last_time) ?? -Infinity)
    }
    const { value: first } = this.firstReceived
    if (first !== undefined) from = Math.min(from, first)
    return from === Infinity ? undefined : { from, to: Math.max(from, to) }
  })
  /** The record as known at the instant. */
  readonly known = computed(() => {
    if (this.isLive.value) return this.record.value
    const end = this.second.value + SECOND
    const before = this.revisions.value.filter((one) => microsOf(one.revision_time) <= end)
    return before.at(-1) ?? this.revisions.value[0] ?? this.record.value
  })
  /** True while the market trades, as far as is known. */
  readonly isOpen = computed(() => {
    const { value: record } = this.record
    const close = microsOrAbsent(record?.close_time)
    const { value: extent } = this.extent
    const isOld = extent !== undefined && this.present.value - extent.to > PAST_AFTER
    const isPast = extent !== undefined && Date.now() * 1000 - this.present.value > PAST_AFTER
    return (
      record !== undefined &&
      !isOld &&
      !isPast &&
      (record.status === 'open' || record.status === null || record.status === 'scheduled') &&
      (close === undefined || close > this.present.value - CLOSE_GRACE)
    )
  })

  /** Which time the page shows: what arrives now, the last of an ended market, an instant of the past, or a replay. */
  readonly moment = computed<Moment>(() => {
    if (this.replayer.isPlaying.value) return 'replay'
    if (!this.isLive.value) return 'past'
    return this.isLoaded.value && !this.isOpen.value ? 'ended' : 'now'
  })

  constructor(ref: MarketRef, time?: number) {
    this.ref = ref
    this.time.value = time
    this.replayer = new Replayer(this)
    void this.load()
  }

  /** The book of an instrument at the instant; absent in a gap and before the first row. */
  bookOf(key: string): Book | undefined {
    return this.viewOf(key).book.value
  }

  /** The gap of an instrument at the instant. */
  gapOf(key: string): GapSpan | undefined {
    return this.viewOf(key).gap.value
  }

  /** All gaps that concern an instrument. */
  gapsOf(key: string): readonly GapSpan[] {
    return this.viewOf(key).gaps.value
  }

  // Computed once per instrument, because several panels read the same book in one frame.
  private viewOf(key: string): InstrumentView {
    let view = this.views.get(key)
    if (view !== undefined) return view
    const gaps = computed(() => gapsOfInstrument(this.gaps.value, key, this.ref.market_id))
    const gap = computed(() => gapAt(gaps.value, this.clock.value))
    const book = computed(() => {
      void this.refresh.ladders.value
      if (gap.value !== undefined) return undefined
      if (!this.isLive.value) return this.pastBooks.get(key)
      const order = this.orders.get(key)
      return order === undefined ? undefined : toBook(order)
    })
    view = { gaps, gap, book }
    this.views.set(key, view)
    return view
  }

  /** Shows an instant and requests its books. */
  seek(time: number): void {
    this.replayer.seek(time)
  }

  /** Follows the present again. */
  goLive(): void {
    this.replayer.stop()
    batch(() => {
      this.time.value = undefined
      this.bookNotices.value = []
      this.refresh.refreshNow()
    })
  }

  /** Replaces all books of the past. */
  putBooks(rows: Iterable<FullRow & { readonly id: string }>): void {
    this.pastBooks.clear()
    for (const row of rows) this.putBook(keyOf(row.id), toBook(OrderBook.from(row)))
  }

  /** Applies the changes of a replay. */
  applyChanges({ books, trades }: ReplayChanges): void {
    for (const [key, book] of books) this.putBook(key, book)
    if (books.length > 0) {
      if (this.bookNotices.peek().length > 0) this.bookNotices.value = []
      this.refresh.bookChanged()
    }
    if (trades.length > 0) {
      this.newTrades = [...trades, ...this.newTrades].slice(0, MAX_TRADES)
      this.refresh.figuresChanged()
    }
  }

  private putBook(key: string, book: Book | undefined): void {
    if (book === undefined) this.pastBooks.delete(key)
    else this.pastBooks.set(key, book)
  }

  private showTrades(): void {
    // Requested trades come below those that the replay has brought meanwhile.
    if (this.newTrades.length === 0 || this.tradeRequests > 0) return
    this.pastTrades.value = [...this.newTrades, ...this.pastTrades.peek()].slice(0, MAX_TRADES)
    this.newTrades = []
  }

  close(): void {
    this.stopping.abort()
    this.link.peek()?.stop()
    this.replayer.stop()
    this.refresh.close()
    for (const dispose of this.disposers) dispose()
  }

  private async load(): Promise<void> {
    const { signal: stopped } = this.stopping
    const isLoaded = await retryLoad(
      () => this.loadOnce(stopped),
      stopped,
      (trouble) => (this.trouble.value = trouble),
    )
    if (!isLoaded) return
    this.trouble.value = undefined
    // Before the charts are drawn: a link to an instant of an ended market must not reach up to now.
    this.movePresent()
    this.isLoaded.value = true
    this.openLink()
    // Charts first: a plan may allow only one request per second.
    setTimeout(() => void this.loadRest())
    if (this.time.peek() !== undefined) this.seek(this.time.peek()!)
    this.disposers.push(
      effect(() => {
        // The clock also moves while no message comes.
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
    const { signal: stopped } = this.stopping
    await retryLoad(() => this.loadRevisions(), stopped)
    await retryLoad(() => this.loadTrades(), stopped)
  }

  /** Requests the gaps again: some become known only later. */
  async loadGaps(): Promise<void> {
    const { venue, market_id: market } = this.ref
    const { client, note } = this.panels.gaps
    note('gaps', { venue, market })
    this.gaps.value = await client.gaps({ venue, market }, this.options).toArray()
  }

  /** Requests the versions of the record. */
  async loadRevisions(): Promise<void> {
    const { client, note } = this.panels.revisions
    note(`client.market(${this.refSource}).revisions`)
    const walk = client.market(this.marketRef).revisions({}, this.options)
    this.revisions.value = (await walk.page()).data
  }

  private async loadTrades(): Promise<void> {
    const { client, note } = this.panels.trades
    const params = { order: 'desc', limit: MAX_TRADES } as const
    note(`client.market(${this.refSource}).trades`, params)
    this.trades.value = (
      await client.market(this.marketRef).trades(params, this.options).page()
    ).data
  }

  /** Requests the executions before an instant of the past. */
  async loadPastTrades(at: number): Promise<void> {
    const { client, note } = this.panels.trades
    const params = { end_time: Math.round(at) + 1, order: 'desc', limit: MAX_TRADES } as const
    note(`client.market(${this.refSource}).trades`, params)
    this.newTrades = []
    this.tradeRequests++
    try {
      const page = await client.market(this.marketRef).trades(params, this.options).page()
      this.pastTrades.value = page.data
    } finally {
      this.tradeRequests--
    }
  }

  /** The market with its asset, which some addresses contain. */
  get marketRef(): MarketRef {
    const record = this.record.peek()
    const asset = record !== undefined && 'asset' in record ? record.asset : undefined
    return { ...this.ref, ...(asset === undefined ? {} : { asset }) }
  }

  /** The same as source code. */
  get refSource(): string {
    return toSource(this.marketRef)
  }

  get options(): { readonly signal: AbortSignal } {
    return { signal: this.stopping.signal }
  }

  private openLink(): void {
    const { venue, market_id } = this.ref
    const { client } = this.panels.book
    this.link.value = new LiveLink(
      client,
      [{ venue, market_id, mode: 'changes', number_format: 'string', time_format: 'epoch_us' }],
      {
        onMessage: (message) => this.receive(message),
        poll: (stopped) => this.poll(stopped),
      },
    )
  }

  private receive(message: LiveMessage): void {
    switch (message.type) {
      case 'snapshot':
      case 'update': {
        const { key, row } = message
        let order = this.orders.get(key)
        if (order === undefined) this.orders.set(key, (order = new OrderBook(row.venue)))
        if (message.type === 'snapshot') order.applyRow(row)
        else order.apply(message)
        this.noteReceived(microsOf(row.received_time))
        break
      }
      case 'trade':
        this.trades.value = [message.row, ...this.trades.peek()].slice(0, MAX_TRADES)
        break
      case 'gap': {
        this.gaps.value = withGap(this.gaps.peek(), message.gap)
        if (message.gap.end_time === null) this.orders.get(message.gap.key ?? '')?.clear()
        this.refresh.bookChanged()
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
        this.refresh.bookChanged()
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
      this.noteReceived(microsOf(row.received_time))
    }
  }

  private noteReceived(received: number): void {
    this.firstReceived.value ??= received
    this.newest = Math.max(this.newest, received)
    this.refresh.bookChanged()
  }

  private newest = 0

  // While the market is open the present moves between messages; after its end it stays there.
  private startTicking(): void {
    const tick = (): void => {
      if (this.stopping.signal.aborted || !this.isLive.peek()) return
      this.movePresent()
      setTimeout(tick, 250)
    }
    tick()
  }

  private movePresent(): void {
    const last = Math.max(this.newest, this.extent.peek()?.to ?? 0)
    const wall = Date.now() * 1000
    const close = microsOrAbsent(this.record.peek()?.close_time) ?? Infinity
    const end = Math.min(wall, close)
    // Old data, such as an import, has its present at its end.
    this.present.value = last === 0 ? wall : wall - last > PAST_AFTER ? last : Math.max(last, end)
  }
}

type InstrumentView = {
  readonly gaps: ReadonlySignal<readonly GapSpan[]>
  readonly gap: ReadonlySignal<GapSpan | undefined>
  readonly book: ReadonlySignal<Book | undefined>
}

/** The instrument key in a row id, `venue:key:sequence`. */
function keyOf(id: string): string {
  return id.slice(id.indexOf(':') + 1, id.lastIndexOf(':'))
}
