/** Rows that a replay holds decoded, whatever the number of its instruments. */
export const ROW_BUDGET = 65_536
// A page of a lone instrument: two chunks.
const MOST_ROWS = 2048
// Even the last of many lanes reads a few rows at a time: a page costs the decoding of a chunk.
const FEWEST_ROWS = 8
// So many lanes may hold decoded chunks as the store hands them out; the store keeps as many itself.
const SHARED_LANES = 16

/** Shares a bounded number of rows among the lanes of a replay. */
export class RowBudget {
  /** Rows that are read and not sent. */
  held = 0
  /** The largest number of rows that were held at once. */
  peak = 0
  private lanes = 0

  /** A lane begins to hold rows. */
  open(): void {
    this.lanes++
  }

  close(): void {
    this.lanes--
  }

  take(rows: number): void {
    this.held += rows
    this.peak = Math.max(this.peak, this.held)
  }

  give(rows: number): void {
    this.held -= rows
  }

  /** How many rows the next page may have: half of what is left, so that others find room too. */
  get page(): number {
    const share = Math.floor(ROW_BUDGET / Math.max(1, this.lanes))
    const left = Math.floor((ROW_BUDGET - this.held) / 2)
    return Math.max(FEWEST_ROWS, Math.min(MOST_ROWS, share, left))
  }

  /** Whether rows may stay in the store's own columns, which hold more than the page. */
  get isShared(): boolean {
    return this.lanes <= SHARED_LANES
  }
}
