/**
 * Lets a client check that it got every row of a walk. It stands on the last page; numbers do not depend
 * on the sizes of the pages.
 */
export type ReceiptJson = {
  readonly rows: number
  /** How many gaps the pages listed. */
  readonly gaps: number
  /** The instruments that have rows in the walk. */
  readonly instruments: readonly InstrumentReceiptJson[]
}

/** The rows of one instrument in a receipt. */
export type InstrumentReceiptJson = {
  readonly key: string
  /** The lowest and the highest sequence, whatever the order of the walk. */
  readonly first: number
  readonly last: number
  readonly rows: number
  /**
   * SHA-256 of the newest sealed chunk that holds one of the rows. Chunks are chained, so it proves the
   * contents of these rows and of all before them, up to the end of that chunk. Null while none of the
   * rows is in a sealed chunk.
   */
  readonly head: string | null
}
