import type { VenueId } from '@priorbook/sdk/domain'
import type { Maker } from '../store/embedded/log.ts'
import { sameMaker } from '../store/embedded/tail.ts'
import type { AppendBatch, Store } from '../store/store.ts'
import { noRows, type BatchRows } from './batch-rows.ts'

// Rows that are made durable together: one sync for all of them.
const FULL_ROWS = 8192

type Draft = { readonly venue: VenueId; readonly maker: Maker; readonly rows: BatchRows }

/** Gathers merged rows into batches, a new one wherever another recorder's rows begin. */
export class MergeSink {
  private readonly store: Store
  private drafts: Draft[] = []
  private waiting = 0
  private step = 0

  constructor(store: Store) {
    this.store = store
  }

  /** True when `flush` should be awaited before more is added. */
  get isFull(): boolean {
    return this.waiting >= FULL_ROWS
  }

  /** Where rows of a maker go; each call stands for one row. */
  rowsOf(venue: VenueId, maker: Maker): BatchRows {
    this.waiting++
    const last = this.drafts.at(-1)
    if (last !== undefined && last.venue === venue && sameMaker(last.maker, maker)) return last.rows
    const rows = noRows()
    this.drafts.push({ venue, maker, rows })
    return rows
  }

  /** Makes everything gathered durable. */
  async flush(): Promise<void> {
    const batches = this.drafts.map(({ venue, maker, rows }): AppendBatch => ({
      ...rows,
      ...maker,
      venue,
      position: ++this.step,
    }))
    this.drafts = []
    this.waiting = 0
    await Promise.all(batches.map((batch) => this.store.append(batch)))
  }

  /** Ends a venue: its journal is applied up to a record. */
  async finish(
    venue: VenueId,
    maker: Maker,
    position: number,
    facts: Readonly<Record<string, number>>,
  ): Promise<void> {
    await this.flush()
    await this.store.append({ ...maker, venue, position, facts })
  }
}
