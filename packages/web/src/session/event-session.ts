import { batch, effect, signal } from '@preact/signals'
import { VENUES, type VenueId } from '@priorbook/sdk/domain'
import type { EventMarketJson, EventWithMarketsJson } from '@priorbook/sdk/wire'
import { createPanel } from '../app/panel.ts'
import { RETRY_MS, toTrouble, type Trouble } from '../app/trouble.ts'
import { chooseDrawn, recordedSpan, toEventLines, type SampledBooks } from '../model/event-lines.ts'
import { toSpan } from '../model/gap.ts'
import { chooseInterval, INTERVAL_MICROS } from '../model/history.ts'
import type { Range } from '../model/range.ts'
import { toSource } from '../model/snippet.ts'
import { microsOrAbsent } from '../model/time.ts'
import { ChartView } from './chart-view.ts'

// How often prices are read again while a market is open, and the lines of the chart.
const PRICES_MS = 5000
const LINES_MS = 60_000
// Max pages of markets: 1,000 each.
const MAX_PAGES = 5

/** The lines of a chart and the markets that they belong to. */
export type EventLines = {
  readonly markets: readonly EventMarketJson[]
  readonly data: ReturnType<typeof toEventLines>
  /** The books of each market that its line is drawn from. */
  readonly books: readonly SampledBooks[]
}

const BEFORE_HISTORY: Trouble = {
  code: 'plan_window',
  title: 'This event ended before the history of your plan',
  text: 'A plan with a longer history includes it.',
  action: 'events',
  isTemporary: false,
}

/** One event: its markets with their prices, read again while one is open, and lines of the highest. */
export class EventSession {
  readonly panel = createPanel()
  readonly chartPanel = createPanel()
  readonly event = signal<EventWithMarketsJson | undefined>(undefined)
  readonly lines = signal<EventLines | undefined>(undefined)
  readonly trouble = signal<Trouble | undefined>(undefined)
  private readonly venue: VenueId
  private readonly eventId: string
  private readonly stopping = new AbortController()
  private drawnAt = -Infinity
  private readonly recorded = signal<Range | undefined>(undefined)
  readonly view: ChartView
  private readonly dispose: () => void

  constructor(venue: VenueId, eventId: string, zoom?: Range) {
    this.venue = venue
    this.eventId = eventId
    this.view = new ChartView(this.recorded, this.recorded, zoom)
    this.dispose = effect(() => {
      void this.view.settled.value
      const event = this.event.peek()
      if (event !== undefined) queueMicrotask(() => void this.draw(event).catch(() => undefined))
    })
    void this.follow()
  }

  close(): void {
    this.stopping.abort()
    this.dispose()
    this.view.close()
  }

  private async follow(): Promise<void> {
    const { signal: stopped } = this.stopping
    const again = (ms: number): void => {
      setTimeout(() => stopped.aborted || void this.follow(), ms)
    }
    try {
      const event = await this.read()
      if (stopped.aborted) return
      if (event === undefined) {
        this.trouble.value = BEFORE_HISTORY
        return
      }
      batch(() => {
        this.event.value = event
        this.trouble.value = undefined
      })
      if (performance.now() - this.drawnAt >= LINES_MS) await this.draw(event)
      if (event.open_market_count > 0) again(PRICES_MS)
    } catch (error) {
      if (stopped.aborted) return
      const trouble = toTrouble(error)
      this.trouble.value = trouble
      if (trouble.isTemporary) again(RETRY_MS)
    }
  }

  // Undefined where the event ended before the history of the plan.
  private async read(): Promise<EventWithMarketsJson | undefined> {
    const { client, note } = this.panel
    const { signal: stopped } = this.stopping
    const markets: EventMarketJson[] = []
    let first: EventWithMarketsJson | undefined
    let cursor: string | null = null
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const params = { venue: this.venue, ...(cursor === null ? {} : { cursor }) }
      note('event', { venue: this.venue }, this.eventId)
      const page = await client.event(this.eventId, params, { signal: stopped })
      if (page.data === null) return undefined
      first ??= page.data
      markets.push(...page.data.markets)
      cursor = page.nextCursor
      if (cursor === null) break
    }
    return { ...first!, markets }
  }

  private async draw(event: EventWithMarketsJson): Promise<void> {
    const now = Date.now() * 1000
    const markets = chooseDrawn(event.markets)
    const span = recordedSpan(markets, now)
    if (span === undefined) return
    this.recorded.value = span
    const range = this.view.settled.peek() ?? span
    const interval = chooseInterval(range.to - range.from)
    const step = INTERVAL_MICROS[interval]
    const params = {
      interval,
      start_time: Math.floor(range.from / step) * step,
      end_time: Math.ceil((range.to + 1) / step) * step,
      include_orderbook: false,
      limit: 1000,
    }
    const books: SampledBooks[] = []
    for (const market of markets) books.push(await this.sample(market, params, now))
    // The visitor has gone on meanwhile.
    if (this.stopping.signal.aborted || range !== (this.view.settled.peek() ?? span)) return
    this.drawnAt = performance.now()
    batch(() => {
      this.lines.value = { markets, books, data: toEventLines(books, { ...range, step }) }
      this.view.sampled.value = { step, last: span.to }
    })
  }

  private async sample(
    market: EventMarketJson,
    params: { readonly interval: ReturnType<typeof chooseInterval>; readonly start_time: number },
    now: number,
  ): Promise<SampledBooks> {
    const { venue } = this
    const { client, note } = this.chartPanel
    const { market_id, asset, token_id } = market
    const hasToken = VENUES[venue].booksPer === 'token' && token_id !== null
    const query = { ...params, ...(hasToken ? { token_id } : {}) }
    const read = async (own: Parameters<ReturnType<typeof client.market>['snapshots']>[0]) => {
      note(`client.market(${toSource({ venue, market_id })}).snapshots`, own)
      const one = client.market({ venue, market_id, asset })
      return one.snapshots(own, { signal: this.stopping.signal }).page()
    }
    // The row that is valid where a chosen span begins.
    const before = {
      end_time: params.start_time,
      order: 'desc',
      include_orderbook: false,
      limit: 1,
      ...(hasToken ? { token_id } : {}),
    } as const
    const first = this.view.settled.peek() === undefined ? [] : (await read(before)).data
    const { data, meta } = await read(query)
    const isKnown = market.status === 'open' && !market.has_open_gap
    const until = isKnown ? now : (microsOrAbsent(market.quote_time) ?? 0)
    return { rows: [...first, ...data], gaps: (meta.gaps ?? []).map(toSpan), until }
  }
}
