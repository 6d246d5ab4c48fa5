import type { Gap } from '@priorbook/sdk/domain'
import { TradeColumns } from '@priorbook/sdk/tape'
import type { Store } from '../../store/store.ts'
import { RANK, type Lane } from './lane.ts'
import type { RowBudget } from './row-budget.ts'
import type { ReplayStream } from './scope.ts'

/** One trade: a row of columns and its number within the instrument. */
export type TradePlace = {
  readonly columns: TradeColumns
  readonly row: number
  readonly ordinal: number
}

/** The trades of one instrument. */
export class TradeLane implements Lane {
  readonly rank = RANK.trade
  readonly index: number
  readonly stream: ReplayStream
  at: number
  sequence = 0
  isReady = false
  isDone = false
  private readonly store: Store
  private readonly budget: RowBudget
  private readonly range: { readonly start: number; readonly end: number }
  private readonly onDamage: (gaps: readonly Gap[]) => void
  private columns = new TradeColumns()
  private ordinals: readonly number[] = []
  private row = 0
  private hasMore = true

  constructor(
    store: Store,
    budget: RowBudget,
    stream: ReplayStream,
    range: { readonly start: number; readonly end: number },
    onDamage: (gaps: readonly Gap[]) => void,
  ) {
    this.store = store
    this.budget = budget
    this.stream = stream
    this.index = stream.index
    this.range = range
    this.onDamage = onDamage
    this.at = range.start
  }

  async load(): Promise<void> {
    const { venue, key } = this.stream.instrument
    const after = this.ordinals.at(-1)
    const page = await this.store.trades({
      venue,
      key,
      order: 'asc',
      start: this.range.start,
      end: this.range.end,
      limit: this.budget.tradePage,
      ...(after === undefined ? {} : { after }),
    })
    if (page.corrupt.length > 0) this.onDamage(page.corrupt)
    const beyond = page.ordinals.findIndex((ordinal) => ordinal > this.stream.lastTrade)
    this.ordinals = beyond < 0 ? page.ordinals : page.ordinals.slice(0, beyond)
    this.hasMore = page.hasMore && beyond < 0
    this.columns = page.rows
    this.row = 0
    this.budget.take(this.ordinals.length)
    this.look()
  }

  take(): TradePlace {
    const { columns, row, sequence: ordinal } = this
    this.row++
    this.budget.give(1)
    this.look()
    return { columns, row, ordinal }
  }

  /** Gives back what is held. */
  close(): void {
    this.budget.give(this.ordinals.length - this.row)
    this.ordinals = []
    this.isDone = true
  }

  private look(): void {
    this.isReady = this.row < this.ordinals.length
    if (this.isReady) {
      this.at = this.columns.received[this.row]!
      this.sequence = this.ordinals[this.row]!
    } else if (!this.hasMore) this.isDone = true
  }
}
