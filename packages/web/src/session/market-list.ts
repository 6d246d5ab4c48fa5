import { batch, signal } from '@preact/signals'
import {
  PriorbookApiError,
  type ListedMarketJson,
  type MarketSearchParams,
} from '@priorbook/sdk/client'
import { createPanel } from '../app/panel.ts'
import { toTrouble, type Trouble } from '../app/trouble.ts'
import type { MarketFilters } from '../model/place.ts'
import { sortLoaded, type ListSort } from '../model/market-sort.ts'

const FIRST = 100
const MORE = 1000
// Up to so many are sorted here; beyond that the order is the server's.
const SORTED_AT_MOST = 2000
const RETRY_MS = 3000

/** The markets that match some filters, loaded as far as the visitor scrolls. */
export class MarketList {
  readonly panel = createPanel()
  readonly rows = signal<readonly ListedMarketJson[]>([])
  readonly hasMore = signal(true)
  readonly isLoading = signal(false)
  readonly trouble = signal<Trouble | undefined>(undefined)
  /** One sentence about the list, such as why its order is another one. */
  readonly remark = signal<string | undefined>(undefined)
  private readonly filters: MarketFilters
  private readonly stopping = new AbortController()
  private resume: string | undefined
  private sort: ListSort
  private isWide = false
  private turn = 0

  constructor(filters: MarketFilters) {
    this.filters = filters
    this.sort = toSort(filters.sort)
    void this.more()
  }

  /** Loads the next rows; does nothing while it already does. */
  async more(): Promise<void> {
    if (this.isLoading.peek() || !this.hasMore.peek()) return
    this.isLoading.value = true
    const { signal: stopped } = this.stopping
    const turn = this.turn
    try {
      await this.page(stopped)
      this.trouble.value = undefined
    } catch (error) {
      if (stopped.aborted || turn !== this.turn) return
      if (isTooMany(error)) {
        this.sort = 'open_time'
        this.remark.value =
          'Too many markets match to sort them; the newest come first. Narrow the list to sort it.'
        this.again()
        return
      }
      const trouble = toTrouble(error)
      this.trouble.value = trouble
      if (trouble.isPassing) setTimeout(() => this.again(), RETRY_MS)
      else this.hasMore.value = false
    } finally {
      if (turn === this.turn) this.isLoading.value = false
    }
    // A short list is read to its end, so that it can be sorted as a whole.
    const isSortable = this.rows.peek().length < SORTED_AT_MOST && this.sort === 'activity'
    if (isSortable && this.hasMore.peek() && this.trouble.peek() === undefined) void this.more()
  }

  /** The first rows as they are now. */
  async refresh(signal: AbortSignal): Promise<readonly ListedMarketJson[]> {
    const page = await this.panel.client
      .markets({ ...this.params(), limit: FIRST }, { signal })
      .page()
    return page.data
  }

  close(): void {
    this.stopping.abort()
  }

  private again(): void {
    if (this.stopping.signal.aborted) return
    this.turn++
    this.resume = undefined
    batch(() => {
      this.isLoading.value = false
      this.hasMore.value = true
      this.rows.value = []
    })
    void this.more()
  }

  private async page(stopped: AbortSignal): Promise<void> {
    const params = this.params()
    const { client, note } = this.panel
    note('markets', params)
    const walk = client.markets(params, { signal: stopped, resume: this.resume })
    const page = await walk.page()
    if (stopped.aborted) return
    this.resume = page.resume ?? undefined
    const rows = [...this.rows.peek(), ...page.data]
    const hasMore = page.resume !== null
    if (rows.length === 0 && !hasMore && this.isPlain && !this.isWide) {
      this.isWide = true
      this.remark.value = 'No market is open now: every recorded one is listed.'
      await this.page(stopped)
      return
    }
    if (hasMore && rows.length >= SORTED_AT_MOST && this.sort === 'activity') {
      this.remark.value =
        'More markets match than can be sorted by activity; the newest come first. Narrow the list to sort it.'
      this.sort = 'open_time'
    }
    batch(() => {
      this.rows.value = this.sort === 'activity' ? sortLoaded(rows, 'activity') : rows
      this.hasMore.value = hasMore
    })
  }

  // Nothing but the usual wish for open markets.
  private get isPlain(): boolean {
    return this.filters.status === undefined
  }

  private params(): MarketSearchParams {
    const { q, venue, asset, series, window, status } = this.filters
    const isOpen = status === undefined && !this.isWide
    const { sort } = this
    return {
      ...(q === undefined ? {} : { q }),
      ...(venue === undefined ? {} : { venue }),
      ...(asset === undefined ? {} : { asset: asset.toLowerCase() }),
      ...(series === undefined ? {} : { series }),
      ...(window === undefined ? {} : { window }),
      ...(isOpen ? { status: 'open' } : {}),
      ...(status === undefined || status === 'any' ? {} : { status: status as 'open' }),
      ...(sort === 'close_time' || sort === 'volume' ? { sort } : {}),
      order: sort === 'close_time' ? 'asc' : 'desc',
      limit: this.resume === undefined && this.rows.peek().length === 0 ? FIRST : MORE,
    }
  }
}

function toSort(text: string | undefined): ListSort {
  return text === 'close_time' || text === 'volume' || text === 'open_time' ? text : 'activity'
}

function isTooMany(error: unknown): boolean {
  return error instanceof PriorbookApiError && error.param === 'sort'
}
