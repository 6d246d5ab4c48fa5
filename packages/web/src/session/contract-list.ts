import type { ContractJson } from '@priorbook/sdk/client'
import type { ContractStatus } from '@priorbook/sdk/wire'
import { pause } from '../app/trouble.ts'
import { ORDER, withNew, withOpen } from '../model/open-first.ts'
import type { ContractFilters } from '../model/place.ts'
import { PagedList, remarkOf, type ListPage } from './paged-list.ts'

// Rows of a page, and how many are loaded without being asked for: the open ones are often few.
const PAGE = 50
const FIRST = 25
// How often open contracts are looked for: rounds end and new ones begin.
const RENEW_MS = 10_000

/** The contracts that match the filters: the open ones first, then the others by status. */
export class ContractList extends PagedList<ContractJson> {
  private readonly filters: ContractFilters
  /** The statuses whose contracts are not all loaded. */
  private readonly left: ContractStatus[]
  private resume: string | undefined

  constructor(filters: ContractFilters) {
    super(FIRST)
    this.filters = filters
    const status = ORDER.find((one) => one === filters.status)
    this.left = status === undefined ? [...ORDER] : [status]
    void this.more()
    if (this.left[0] === 'open') void this.renew()
  }

  protected read(): Promise<ListPage<ContractJson>> {
    return this.page(this.left[0]!, this.resume)
  }

  protected put(page: ListPage<ContractJson>): void {
    this.resume = page.resume ?? undefined
    if (page.resume === null) this.left.shift()
    this.rows.value = withNew(this.rows.peek(), page.data)
    this.hasMore.value = this.left.length > 0
    const remark = remarkOf(page.notices)
    if (remark !== undefined) this.remark.value = remark
  }

  private async renew(): Promise<void> {
    const { signal: stopped } = this.stopping
    for (;;) {
      await pause(RENEW_MS, stopped)
      if (stopped.aborted) return
      if (document.hidden || this.left[0] === 'open') continue
      try {
        const { data } = await this.page('open', undefined)
        if (!stopped.aborted) this.rows.value = withOpen(this.rows.peek(), data)
      } catch {
        // The next turn tries again.
      }
    }
  }

  private page(status: ContractStatus, resume: string | undefined) {
    const { q, asset, window } = this.filters
    const params = {
      status,
      ...(q === undefined ? {} : { q }),
      ...(asset === undefined ? {} : { asset: asset.toLowerCase() }),
      ...(window === undefined ? {} : { window }),
      limit: PAGE,
    }
    const { client, note } = this.panel
    note('contracts', params)
    return client.contracts(params, { signal: this.stopping.signal, resume }).page()
  }
}
