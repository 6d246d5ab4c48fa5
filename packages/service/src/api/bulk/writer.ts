import type { FileReceipt } from './tally.ts'
import type { WalkItem } from './walk-item.ts'

/**
 * Turns a walk into the bytes of one format. What it yields is borrowed until the next step; between
 * two steps others may run, so a step should not take more than a few milliseconds.
 */
export interface BulkWriter {
  /** What stands before the first row. */
  begin(): Iterable<Uint8Array>
  write(item: WalkItem): Iterable<Uint8Array>
  end(receipt: FileReceipt): Iterable<Uint8Array>
}

/** The bytes of a step that has none to give yet. */
export const NOTHING: Uint8Array = new Uint8Array(0)
