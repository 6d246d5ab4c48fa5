/** Proves to a client that it got every row of a walk, and nothing else. */
export type ReceiptJson = {
  readonly rows: number
  readonly first_id: string | null
  readonly last_id: string | null
  /** SHA-256 of the row ids in the order of the walk, each followed by a line feed. */
  readonly sha256: string
  /** How many gaps the pages listed. */
  readonly gaps: number
}
