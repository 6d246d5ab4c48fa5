import { OrderBook, type ReplayMessage } from '@priorbook/sdk/client'
import type { TradeJson } from '@priorbook/sdk/wire'
import { toBook, type Book } from '../model/book.ts'
import { microsOf } from '../model/time.ts'

/** What a replay changed since it was last asked. */
export type ReplayNews = {
  /** Books by instrument that changed; absent ones are no longer known. */
  readonly books: readonly (readonly [key: string, book: Book | undefined])[]
  /** Executions, newest first. */
  readonly trades: readonly TradeJson[]
  /** When the last row was received; absent where none came in its time. */
  readonly time: number | undefined
}

/** The most executions that the page keeps. */
export const MOST_TRADES = 60

/**
 * The books of a replay, row by row. A frame shows only the last of them, so changes are collected until
 * somebody asks: a dense market at ten times its pace has fifty rows a frame.
 */
export class ReplayBooks {
  private readonly orders = new Map<string, OrderBook>()
  private readonly changed = new Set<string>()
  private trades: TradeJson[] = []
  private time: number | undefined
  private isNew = false

  take(message: ReplayMessage): void {
    switch (message.type) {
      case 'snapshot':
        // The book that a replay begins with may have stood for long.
        this.takeRow(message.key, message.row)
        break
      case 'update':
        this.time = microsOf(message.row.received_time)
        this.takeRow(message.key, message.row)
        break
      case 'trade':
        this.time = microsOf(message.row.received_time)
        this.trades.push(message.row)
        if (this.trades.length > 2 * MOST_TRADES) this.trades = this.trades.slice(-MOST_TRADES)
        this.isNew = true
        break
      case 'gap':
        // It is told again when it closes; by then the books were forgotten.
        if (message.gap.end_time !== null) break
        this.forget(message.gap.scope === 'instrument' ? message.gap.key : null)
        break
      case 'replay_state':
        this.isNew = true
        break
      default:
        break
    }
  }

  /** What changed since the last call; absent where nothing did. */
  news(): ReplayNews | undefined {
    if (!this.isNew) return undefined
    const books = Array.from(this.changed, (key) => {
      const order = this.orders.get(key)
      return [key, order === undefined ? undefined : toBook(order)] as const
    })
    const trades = this.trades.slice(-MOST_TRADES).reverse()
    const { time } = this
    this.changed.clear()
    this.trades = []
    this.time = undefined
    this.isNew = false
    return { books, trades, time }
  }

  private takeRow(key: string, row: Parameters<OrderBook['applyRow']>[0]): void {
    let order = this.orders.get(key)
    if (order === undefined || !('changes' in row)) {
      // Changes of a book that is not known say nothing, unless they begin it anew.
      if ('changes' in row && !isRestart(row)) return
      this.orders.set(key, (order = new OrderBook(row.venue)))
    }
    order.applyRow(row)
    this.changed.add(key)
    this.isNew = true
  }

  private forget(key: string | null): void {
    for (const one of key === null ? [...this.orders.keys()] : [key]) {
      this.orders.delete(one)
      this.changed.add(one)
    }
    this.isNew = true
  }
}

function isRestart({ flags }: { readonly flags?: unknown }): boolean {
  return Array.isArray(flags) && flags.includes('restart')
}
