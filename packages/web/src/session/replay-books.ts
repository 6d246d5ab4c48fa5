import { OrderBook, type ReplayMessage } from '@priorbook/sdk/client'
import type { TradeJson } from '@priorbook/sdk/wire'
import { toBook, type Book } from '../model/book.ts'
import { microsOf } from '../model/time.ts'

/** The changes of a replay since the last request. */
export type ReplayChanges = {
  /** Changed books by instrument; undefined where the book is no longer known. */
  readonly books: readonly (readonly [key: string, book: Book | undefined])[]
  /** Executions, newest first. */
  readonly trades: readonly TradeJson[]
  /** The received time of the last row; absent where none came. */
  readonly time: number | undefined
}

/** Max executions that the page keeps. */
export const MAX_TRADES = 60

/**
 * Applies the rows of a replay and collects changes until the page requests them: a frame shows only the
 * last book, and a dense market at ten times its speed has fifty rows per frame.
 */
export class ReplayBooks {
  private readonly orders = new Map<string, OrderBook>()
  private readonly changed = new Set<string>()
  private trades: TradeJson[] = []
  private time: number | undefined
  private hasChanged = false

  apply(message: ReplayMessage): void {
    switch (message.type) {
      case 'snapshot':
        // The first book of a replay may be older than its start, so its time does not count.
        this.applyRow(message.key, message.row)
        break
      case 'update':
        this.time = microsOf(message.row.received_time)
        this.applyRow(message.key, message.row)
        break
      case 'trade':
        this.time = microsOf(message.row.received_time)
        this.trades.push(message.row)
        if (this.trades.length > 2 * MAX_TRADES) this.trades = this.trades.slice(-MAX_TRADES)
        this.hasChanged = true
        break
      case 'gap':
        // The same gap comes again when it closes; its books are already removed.
        if (message.gap.end_time !== null) break
        this.remove(message.gap.scope === 'instrument' ? message.gap.key : null)
        break
      case 'replay_state':
        this.hasChanged = true
        break
      default:
        break
    }
  }

  /** The changes since the last call; undefined where there are none. */
  changes(): ReplayChanges | undefined {
    if (!this.hasChanged) return undefined
    const books = Array.from(this.changed, (key) => {
      const order = this.orders.get(key)
      return [key, order === undefined ? undefined : toBook(order)] as const
    })
    const trades = this.trades.slice(-MAX_TRADES).reverse()
    const { time } = this
    this.changed.clear()
    this.trades = []
    this.time = undefined
    this.hasChanged = false
    return { books, trades, time }
  }

  private applyRow(key: string, row: Parameters<OrderBook['applyRow']>[0]): void {
    let order = this.orders.get(key)
    if (order === undefined || !('changes' in row)) {
      // Changes to an unknown book are useless unless they restart it.
      if ('changes' in row && !isRestart(row)) return
      this.orders.set(key, (order = new OrderBook(row.venue)))
    }
    order.applyRow(row)
    this.changed.add(key)
    this.hasChanged = true
  }

  private remove(key: string | null): void {
    for (const one of key === null ? [...this.orders.keys()] : [key]) {
      this.orders.delete(one)
      this.changed.add(one)
    }
    this.hasChanged = true
  }
}

function isRestart({ flags }: { readonly flags?: unknown }): boolean {
  return Array.isArray(flags) && flags.includes('restart')
}
