import { batch, signal } from '@preact/signals'
import type { ContractJson } from '@priorbook/sdk/client'
import type { ContractStatus } from '@priorbook/sdk/wire'
import { createPanel } from '../app/panel.ts'
import { pause, RETRY_MS, toTrouble, type Trouble } from '../app/trouble.ts'
import { ORDER, withNew, withOpen } from '../model/open-first.ts'
import type { ContractFilters } from '../model/place.ts'

// Rows of a page, and how many are loaded without being asked for.
const PAGE = 50
const FIRST = 25
// How often open contracts are looked for: rounds end and new ones begin.
const RENEW_MS = 10_000

/** The contracts that match the filters: the open ones first, then the others by status. */
export class ContractList {
  readonly panel = createPanel()
  readonly rows = signal<readonly ContractJson[]>([])
  readonly hasMore = signal(true)
  readonly isLoading = signal(false)
  readonly trouble = signal<Trouble | undefined>(undefined)
  readonly remark = signal<string | undefined>(undefined)
  private readonly filters: ContractFilters
  private readonly stopping = new AbortController()
  private readonly left: ContractStatus[]
  private resume: string | undefined

  constructor(filters: ContractFilters) {
    this.filters = filters
    const status = ORDER.find((one) => one === filters.status)
    this.left = status === undefined ? [...ORDER] : [status]
    void this.more()
    if (this.left[0] === 'open') void this.renew()
  }

  close(): void {
    this.stopping.abort()
  }

  /** Loads the next rows, unless a load is running. */
  async more(): Promise<void> {
    const [status] = this.left
    if (status === undefined || this.isLoading.peek() || !this.hasMore.peek()) return
    this.isLoading.value = true
    const { signal: stopped } = this.stopping
    try {
      const page = await this.read(status, this.resume)
      if (stopped.aborted) return
      this.resume = page.resume ?? undefined
      if (page.resume === null) this.left.shift()
      batch(() => {
        this.rows.value = withNew(this.rows.peek(), page.data)
        this.hasMore.value = this.left.length > 0
        const remark = page.notices.find(({ code }) => REMARKS.has(code))?.message
        if (remark !== undefined) this.remark.value = remark
        this.trouble.value = undefined
        this.isLoading.value = false
      })
      // The open ones are often few, and a search may return an empty page and go on.
      if (this.rows.peek().length < FIRST) void this.more()
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

  private async renew(): Promise<void> {
    const { signal: stopped } = this.stopping
    for (;;) {
      await pause(RENEW_MS, stopped)
      if (stopped.aborted) return
      if (document.hidden || this.left[0] === 'open') continue
      try {
        const { data } = await this.read('open', undefined)
        if (!stopped.aborted) this.rows.value = withOpen(this.rows.peek(), data)
      } catch {
        // The next turn tries again.
      }
    }
  }

  private read(status: ContractStatus, resume: string | undefined) {
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

const REMARKS = new Set(['search_corrected', 'plan_required'])
