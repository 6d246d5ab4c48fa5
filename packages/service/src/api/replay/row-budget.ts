import type { ReplayScope, ReplayStream } from './scope.ts'

/** Rows that a replay holds decoded, whatever the number of its instruments and its range. */
export const ROW_BUDGET = 65_536
const BOOK_ROWS = ROW_BUDGET * 0.75
const TRADE_ROWS = ROW_BUDGET - BOOK_ROWS
// A page of books of a lone instrument: two chunks. Trades are a hundredth of the rows.
const MOST_BOOKS = 2048
const MOST_TRADES = 256
// So many lanes may hold decoded chunks as the store hands them out; the store keeps as many itself.
const SHARED_LANES = 16

/** How many rows the lanes of a replay read at a time, so that all of them stay within the budget. */
export class RowBudget {
  readonly bookPage: number
  readonly tradePage: number
  /** Whether rows may stay in the store's own columns, which hold more than the page. */
  readonly isShared: boolean
  /** Rows that are read and not sent, now and at most. */
  held = 0
  peak = 0

  constructor(scope: ReplayScope) {
    const lanes = Math.max(1, mostAtOnce(scope.streams))
    this.bookPage = Math.min(MOST_BOOKS, Math.floor(BOOK_ROWS / lanes))
    const all = Math.max(1, scope.streams.length)
    this.tradePage = Math.min(MOST_TRADES, Math.floor(TRADE_ROWS / all))
    this.isShared = lanes <= SHARED_LANES
  }

  take(rows: number): void {
    this.held += rows
    this.peak = Math.max(this.peak, this.held)
  }

  give(rows: number): void {
    this.held -= rows
  }
}

/** How many instruments have rows before and after one moment: rounds follow each other. */
function mostAtOnce(streams: readonly ReplayStream[]): number {
  const edges: { readonly at: number; readonly step: 1 | -1 }[] = []
  for (const { firstReceived, lastReceived } of streams) {
    edges.push({ at: firstReceived, step: 1 }, { at: lastReceived, step: -1 })
  }
  // What begins where another ends is held beside it.
  edges.sort((a, b) => a.at - b.at || b.step - a.step)
  let open = 0
  let most = 0
  for (const { step } of edges) {
    open += step
    most = Math.max(most, open)
  }
  return most
}
