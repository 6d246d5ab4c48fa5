import { signal } from '@preact/signals'
import type { ListedMarketJson, LiveMessage, PriorbookClient } from '@priorbook/sdk/client'
import { VENUES } from '@priorbook/sdk/domain'
import type { MarketJson } from '@priorbook/sdk/wire'
import { printDecimal } from '../model/decimal.ts'
import { LiveLink } from './live-link.ts'

/** The prices and the status of a row of the list. */
export type Quote = {
  readonly status: string | null
  readonly winner: string | null
  readonly bid: string | null
  readonly ask: string | null
  readonly spread: string | null
  readonly last: string | null
}

/** Requests rows of the list again, with their quotes. */
export type Refresh = (signal: AbortSignal) => Promise<readonly ListedMarketJson[]>

// How long the visible rows must stay the same before they are subscribed to.
const SETTLE_MS = 250
const CONFLATE_MS = 500
const REFRESH_MS = 2500
const MAX_FOLLOWED = 60

/** Keeps the quotes of the visible rows up to date. */
export class ListQuotes {
  readonly quotes = signal<ReadonlyMap<string, Quote>>(new Map())
  readonly link = signal<LiveLink | undefined>(undefined)
  private readonly client: PriorbookClient
  private shown = ''
  private timer: ReturnType<typeof setTimeout> | undefined
  private frame = 0
  private readonly next = new Map<string, Quote>()
  private readonly refresh: Refresh
  private refreshTimer: ReturnType<typeof setTimeout> | undefined
  private readonly stopping = new AbortController()
  /** Max subscriptions of the plan, known from the welcome message. */
  private maxFollowed = MAX_FOLLOWED

  constructor(client: PriorbookClient, refresh: Refresh) {
    this.client = client
    this.refresh = refresh
  }

  /** Follows these rows, once scrolling has stopped. */
  show(rows: readonly ListedMarketJson[]): void {
    const live = rows.filter(({ status }) => status === 'open' || status === null)
    const name = live.map(nameOf).join(' ')
    if (name === this.shown) return
    this.shown = name
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.follow(live), SETTLE_MS)
  }

  close(): void {
    this.stopping.abort()
    clearTimeout(this.timer)
    clearTimeout(this.refreshTimer)
    cancelAnimationFrame(this.frame)
    this.link.peek()?.stop()
  }

  private follow(rows: readonly ListedMarketJson[]): void {
    this.link.peek()?.stop()
    if (rows.length === 0) {
      this.link.value = undefined
      return
    }
    const followed = rows.slice(0, this.maxFollowed)
    this.link.value = new LiveLink(
      this.client,
      followed.map(({ venue, market_id }) => ({
        venue,
        market_id,
        depth: 1,
        conflate_ms: CONFLATE_MS,
        datasets: ['books', 'trades', 'markets'],
        number_format: 'string',
        time_format: 'epoch_us',
      })),
      { onMessage: (message) => this.receive(message, rows), poll: () => this.refreshRows() },
    )
    clearTimeout(this.refreshTimer)
    if (followed.length < rows.length) this.refreshLater()
  }

  // Rows beyond the plan's subscriptions are requested from time to time, all at once.
  private refreshLater(): void {
    this.refreshTimer = setTimeout(() => {
      void this.refreshRows()
        .catch(() => undefined)
        .then(() => this.stopping.signal.aborted || this.refreshLater())
    }, REFRESH_MS)
  }

  private async refreshRows(): Promise<void> {
    for (const row of await this.refresh(this.stopping.signal)) {
      this.put(row, { ...quoteOfRow(row), ...stateOf(row), last: textOf(row.last_price) })
    }
  }

  private receive(message: LiveMessage, rows: readonly ListedMarketJson[]): void {
    if (
      message.type === 'welcome' &&
      message.limits.subscriptions < Math.min(rows.length, this.maxFollowed)
    ) {
      this.maxFollowed = message.limits.subscriptions
      queueMicrotask(() => this.follow(rows))
      return
    }
    if (!('row' in message) || !('market_id' in message.row)) return
    const { row } = message
    const market = rows.find((one) => one.market_id === row.market_id && one.venue === row.venue)
    if (market === undefined) return
    if (message.type === 'market') {
      this.put(market, stateOf(message.row))
      return
    }
    if (!('token_id' in row) || !isFirst(market, row.token_id)) return
    if (message.type === 'trade') this.put(market, { last: printDecimal(message.row.price) })
    else this.put(market, quoteOfRow(message.row))
  }

  private put(market: ListedMarketJson, changes: Partial<Quote>): void {
    const name = nameOf(market)
    const before = this.next.get(name) ?? {
      ...stateOf(market),
      bid: textOf(market.best_bid),
      ask: textOf(market.best_ask),
      spread: textOf(market.spread),
      last: textOf(market.last_price),
    }
    this.next.set(name, { ...before, ...changes })
    if (this.frame !== 0) return
    this.frame = requestAnimationFrame(() => {
      this.frame = 0
      this.quotes.value = new Map(this.next)
    })
  }
}

/** Identifies a row. */
export function nameOf(row: { readonly venue: string; readonly market_id: string }): string {
  return `${row.venue}/${row.market_id}`
}

function stateOf(row: Pick<MarketJson, 'status' | 'winning_outcome'>) {
  return { status: row.status, winner: row.winning_outcome }
}

function quoteOfRow(row: { readonly [name: string]: unknown }): Partial<Quote> {
  return {
    bid: textOf(row['best_bid']),
    ask: textOf(row['best_ask']),
    spread: textOf(row['spread']),
  }
}

// The list shows the first outcome; a market may have a book for each.
function isFirst({ venue, outcomes }: ListedMarketJson, tokenId: string | null): boolean {
  if (VENUES[venue].booksPer === 'market') return true
  return outcomes.find(({ index }) => index === 0)?.token_id === tokenId
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}
