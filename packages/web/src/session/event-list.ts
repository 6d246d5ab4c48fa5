import type { EventJson } from '@priorbook/sdk/wire'
import type { EventFilters } from '../model/place.ts'
import { PagedList, remarkOf, type ListPage } from './paged-list.ts'

// Rows of a page.
const PAGE = 100

/** The events that match the filters, a page at a time. */
export class EventList extends PagedList<EventJson> {
  private readonly filters: EventFilters
  private resume: string | undefined

  constructor(filters: EventFilters) {
    super(1)
    this.filters = filters
    void this.more()
  }

  protected read(): Promise<ListPage<EventJson>> {
    const params = this.params()
    const { client, note } = this.panel
    note('events', params)
    return client.events(params, { signal: this.stopping.signal, resume: this.resume }).page()
  }

  protected put(page: ListPage<EventJson>): void {
    this.resume = page.resume ?? undefined
    this.rows.value = [...this.rows.peek(), ...page.data]
    this.hasMore.value = page.resume !== null
    this.remark.value = remarkOf(page.notices)
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
