import { batch, signal } from '@preact/signals'
import type { EventJson } from '@priorbook/sdk/wire'
import { createPanel } from '../app/panel.ts'
import { RETRY_MS, toTrouble, type Trouble } from '../app/trouble.ts'
import type { EventFilters } from '../model/place.ts'

// Rows of a page.
const PAGE = 100

/** The events that match the filters, a page at a time. */
export class EventList {
  readonly panel = createPanel()
  readonly rows = signal<readonly EventJson[]>([])
  readonly hasMore = signal(true)
  readonly isLoading = signal(false)
  readonly trouble = signal<Trouble | undefined>(undefined)
  /** A sentence about the list, such as that a word was mistyped. */
  readonly remark = signal<string | undefined>(undefined)
  private readonly filters: EventFilters
  private readonly stopping = new AbortController()
  private resume: string | undefined

  constructor(filters: EventFilters) {
    this.filters = filters
    void this.more()
  }

  /** Loads the next rows, unless a load is running. */
  async more(): Promise<void> {
    if (this.isLoading.peek() || !this.hasMore.peek()) return
    this.isLoading.value = true
    const { signal: stopped } = this.stopping
    const params = this.params()
    const { client, note } = this.panel
    note('events', params)
    try {
      const page = await client.events(params, { signal: stopped, resume: this.resume }).page()
      if (stopped.aborted) return
      this.resume = page.resume ?? undefined
      batch(() => {
        this.rows.value = [...this.rows.peek(), ...page.data]
        this.hasMore.value = page.resume !== null
        this.remark.value = page.notices.find(({ code }) => REMARKS.has(code))?.message
        this.trouble.value = undefined
        this.isLoading.value = false
      })
      // A search by frequent words may return an empty page and go on.
      if (this.rows.peek().length === 0) void this.more()
    } catch (error) {
      if (stopped.aborted) return
      const trouble = toTrouble(error)
      batch(() => {
        this.trouble.value = trouble
        this.isLoading.value = false
        if (!trouble.isTemporary) this.hasMore.value = false
      })
      if (trouble.isTemporary) setTimeout(() => stopped.aborted || void this.more(), RETRY_MS)
    }
  }

  close(): void {
    this.stopping.abort()
  }

  private params() {
    const { q, venue, status, category, tag, sort } = this.filters
    const isByClose = sort !== 'open_time'
    return {
      ...(q === undefined ? {} : { q }),
      ...(venue === undefined ? {} : { venue }),
      ...(category === undefined ? {} : { category }),
      ...(tag === undefined ? {} : { tag }),
      ...(status === 'all' ? {} : { status: 'open' as const }),
      sort: isByClose ? ('close_time' as const) : ('open_time' as const),
      // What closes next, or what opened last, comes first; of past events the last one.
      order: isByClose && status !== 'all' ? ('asc' as const) : ('desc' as const),
      limit: PAGE,
    }
  }
}

const REMARKS = new Set(['search_corrected', 'plan_required'])
