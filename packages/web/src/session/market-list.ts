import { batch, signal } from '@preact/signals'
import {
  PriorbookApiError,
  type ListedMarketJson,
  type MarketSearchParams,
} from '@priorbook/sdk/client'
import { createPanel } from '../app/panel.ts'
import { RETRY_MS, toTrouble, type Trouble } from '../app/trouble.ts'
import { noOpenMarket } from '../model/filter-words.ts'
import type { MarketFilters } from '../model/place.ts'
import { sortLoaded, type ListSort } from '../model/market-sort.ts'
import { remarkOf } from './paged-list.ts'

// Rows of the first page, which is shown as soon as possible, and of the next ones.
const FIRST = 100
const MORE = 1000
// Max rows that the page sorts itself; longer lists keep the server's order.
const MAX_SORTED = 2000

/** The markets that match the filters, loaded as far as the visitor scrolls. */
export class MarketList {
  readonly panel = createPanel()
  readonly rows = signal<readonly ListedMarketJson[]>([])
  readonly hasMore = signal(true)
  readonly isLoading = signal(false)
  readonly trouble = signal<Trouble | undefined>(undefined)
  /** A sentence about the list, such as why it has another order. */
  readonly remark = signal<string | undefined>(undefined)
  private readonly filters: MarketFilters
  private readonly stopping = new AbortController()
  private resume: string | undefined
  private sort: ListSort
  private isWide = false
  /** Counts restarts, so that an older load is ignored. */
  private generation = 0

  constructor(filters: MarketFilters) {
    this.filters = filters
    this.sort = toSort(filters.sort)
    void this.more()
  }

  /** Loads the next rows, unless a load is running. */
  async more(): Promise<void> {
    if (this.isLoading.peek() || !this.hasMore.peek()) return
    this.isLoading.value = true
    const { signal: stopped } = this.stopping
    const { generation } = this
    try {
      await this.page(stopped)
      this.trouble.value = undefined
    } catch (error) {
      if (stopped.aborted || generation !== this.generation) return
      if (isTooMany(error)) {
        this.sort = 'open_time'
        this.remark.value =
          'Too many markets match to be sorted; the newest come first. Add a filter to sort them.'
        this.restart()
        return
      }
      const trouble = toTrouble(error)
      this.trouble.value = trouble
      if (trouble.isTemporary) setTimeout(() => this.restart(), RETRY_MS)
      else this.hasMore.value = false
    } finally {
      if (generation === this.generation) this.isLoading.value = false
    }
    // A short list is loaded completely, so that it can be sorted.
    const loaded = this.rows.peek().length
    const isSortable = loaded < MAX_SORTED && this.sort === 'activity'
    // A search by frequent words may return an empty page and go on.
    if ((isSortable || loaded === 0) && this.hasMore.peek() && this.trouble.peek() === undefined)
      void this.more()
  }

  /** Requests the first rows again. */
  async refresh(signal: AbortSignal): Promise<readonly ListedMarketJson[]> {
    const page = await this.panel.client
      .markets({ ...this.params(), limit: FIRST }, { signal })
      .page()
    return page.data
  }

  close(): void {
    this.stopping.abort()
  }

  private restart(): void {
    if (this.stopping.signal.aborted) return
    this.generation++
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
    if (rows.length === 0 && !hasMore && this.isDefault && !this.isWide) {
      this.isWide = true
      await this.page(stopped)
      return
    }
    if (this.isWide && rows.length > 0) {
      this.remark.value = `${noOpenMarket(this.filters)}, so those of every status are listed.`
    }
    const remark = remarkOf(page.notices)
    if (remark !== undefined) this.remark.value = remark
    if (hasMore && rows.length >= MAX_SORTED && this.sort === 'activity') {
      this.remark.value =
        'Too many markets match to be sorted by activity; the newest come first. Add a filter to sort them.'
      this.sort = 'open_time'
    }
    batch(() => {
      this.rows.value = this.sort === 'activity' ? sortLoaded(rows, 'activity') : rows
      this.hasMore.value = hasMore
    })
  }

  // True while the visitor has not chosen a status: open markets are listed.
  private get isDefault(): boolean {
    return this.filters.status === undefined
  }

  private params(): MarketSearchParams {
    const { q, venue, asset, series, window, status, category, tag } = this.filters
    const isOpen = status === undefined && !this.isWide
    const { sort } = this
    return {
      ...(q === undefined ? {} : { q }),
      ...(venue === undefined ? {} : { venue }),
      ...(asset === undefined ? {} : { asset: asset.toLowerCase() }),
      ...(series === undefined ? {} : { series }),
      ...(window === undefined ? {} : { window }),
      ...(category === undefined ? {} : { category }),
      ...(tag === undefined ? {} : { tag }),
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
