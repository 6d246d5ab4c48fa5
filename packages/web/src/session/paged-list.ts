import { batch, signal } from '@preact/signals'
import { createPanel } from '../app/panel.ts'
import { RETRY_MS, toTrouble, type Trouble } from '../app/trouble.ts'

/** What a list needs of a page of the client. */
export type ListPage<Row> = {
  readonly data: readonly Row[]
  /** Where the next page begins; null after the last one. */
  readonly resume: string | null
  readonly notices: readonly { readonly code: string; readonly message: string }[]
}

/** A list that is loaded a page at a time, and again where a load failed for the moment. */
export abstract class PagedList<Row> {
  readonly panel = createPanel()
  readonly rows = signal<readonly Row[]>([])
  readonly hasMore = signal(true)
  readonly isLoading = signal(false)
  readonly trouble = signal<Trouble | undefined>(undefined)
  /** A sentence about the list, such as that a word was mistyped. */
  readonly remark = signal<string | undefined>(undefined)
  protected readonly stopping = new AbortController()
  /** Rows that are loaded without being asked for: a search may return an empty page and go on. */
  protected readonly enough: number

  constructor(enough: number) {
    this.enough = enough
  }

  /** Requests the next page. */
  protected abstract read(): Promise<ListPage<Row>>

  /** Puts a page into the list, and says whether more follow. */
  protected abstract put(page: ListPage<Row>): void

  /** Loads the next rows, unless a load is running. */
  async more(): Promise<void> {
    if (this.isLoading.peek() || !this.hasMore.peek()) return
    this.isLoading.value = true
    const { signal: stopped } = this.stopping
    try {
      const page = await this.read()
      if (stopped.aborted) return
      batch(() => {
        this.put(page)
        this.trouble.value = undefined
        this.isLoading.value = false
      })
      if (this.rows.peek().length < this.enough) void this.more()
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
}

const REMARKS = new Set(['search_corrected', 'plan_required'])

/** What the notices of a page say about the list as a whole. */
export function remarkOf(notices: ListPage<unknown>['notices']): string | undefined {
  return notices.find(({ code }) => REMARKS.has(code))?.message
}
