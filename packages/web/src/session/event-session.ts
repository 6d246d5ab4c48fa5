import { batch, signal } from '@preact/signals'
import { VENUES, type VenueId } from '@priorbook/sdk/domain'
import type { EventMarketJson, EventWithMarketsJson } from '@priorbook/sdk/wire'
import { createPanel } from '../app/panel.ts'
import { RETRY_MS, toTrouble, type Trouble } from '../app/trouble.ts'
import { chooseDrawn, recordedSpan, toEventLines, type SampledBooks } from '../model/event-lines.ts'
import { toSpan } from '../model/gap.ts'
import { chooseInterval, INTERVAL_MICROS } from '../model/history.ts'
import { toSource } from '../model/snippet.ts'
import { microsOrAbsent } from '../model/time.ts'

// How often prices are read again while a market is open, and the lines of the chart.
const PRICES_MS = 5000
const LINES_MS = 60_000
// Max pages of markets: 1,000 each.
const MAX_PAGES = 5

/** The lines of a chart and the markets that they belong to. */
export type EventLines = {
  readonly markets: readonly EventMarketJson[]
  readonly data: ReturnType<typeof toEventLines>
  readonly range: { readonly from: number; readonly to: number }
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

  constructor(venue: VenueId, eventId: string) {
    this.venue = venue
    this.eventId = eventId
    void this.follow()
  }

  close(): void {
    this.stopping.abort()
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
    const range = recordedSpan(markets, now)
    if (range === undefined) return
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
    if (this.stopping.signal.aborted) return
    this.drawnAt = performance.now()
    this.lines.value = { markets, range, data: toEventLines(books, { ...range, step }) }
  }

  private async sample(
    market: EventMarketJson,
    params: { readonly interval: ReturnType<typeof chooseInterval> },
    now: number,
  ): Promise<SampledBooks> {
    const { venue } = this
    const { client, note } = this.chartPanel
    const { market_id, asset, token_id } = market
    const hasToken = VENUES[venue].booksPer === 'token' && token_id !== null
    const query = { ...params, ...(hasToken ? { token_id } : {}) }
    note(`client.market(${toSource({ venue, market_id })}).snapshots`, query)
    const walk = client
      .market({ venue, market_id, asset })
      .snapshots(query, { signal: this.stopping.signal })
    const { data, meta } = await walk.page()
    const isKnown = market.status === 'open' && !market.has_open_gap
    const until = isKnown ? now : (microsOrAbsent(market.quote_time) ?? 0)
    return { rows: data, gaps: (meta.gaps ?? []).map(toSpan), until }
  }
}
