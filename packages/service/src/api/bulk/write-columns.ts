import { ColumnBatch, type ColumnSpec } from './column-batch.ts'
import { columnsOf } from './columns.ts'
import { cutPieces } from './cut-pieces.ts'
import { BookFiller } from './fill-books.ts'
import { fillRows } from './fill-rows.ts'
import type { BulkScope } from './scope.ts'
import type { FileReceipt } from './tally.ts'
import { NOTHING, type BulkWriter } from './writer.ts'

/** A file of columns: takes batches of rows and gives bytes. */
export interface ColumnSink {
  begin(): Iterable<Uint8Array>
  /** Writes the rows of a batch, which is used again afterwards. */
  write(batch: ColumnBatch): Iterable<Uint8Array>
  end(receipt: FileReceipt): Iterable<Uint8Array>
}

// Rows and ladder values of a batch: about a megabyte, a few milliseconds to fill and to write.
const BATCH_ROWS = 2048
const BATCH_VALUES = 32_768
// Rows filled in one step.
const STEP_ROWS = 256

/** Fills batches from a walk and hands them to a file of columns. */
export function createColumnWriter(
  scope: BulkScope,
  createSink: (specs: readonly ColumnSpec[]) => ColumnSink,
): BulkWriter {
  const specs = columnsOf(scope)
  const batch = new ColumnBatch(specs)
  const sink = createSink(specs)
  const books = scope.dataset === 'books' ? new BookFiller(scope, batch) : undefined

  function* flush(): Generator<Uint8Array> {
    yield* sink.write(batch)
    batch.clear()
  }
  function* flushIfFull(): Generator<Uint8Array> {
    if (batch.rows >= BATCH_ROWS || batch.values >= BATCH_VALUES) yield* flush()
    else yield NOTHING
  }
  return {
    begin: () => sink.begin(),
    *write(item) {
      switch (item.kind) {
        case 'book':
          for (const pieces of cutPieces(item.pieces, () => STEP_ROWS)) {
            for (const piece of pieces) books!.fill(item.contexts, piece)
            yield* flushIfFull()
          }
          break
        case 'trade':
        case 'sample':
          for (let from = 0; from < item.rows.length; from += STEP_ROWS) {
            fillRows(batch, item, from, Math.min(from + STEP_ROWS, item.rows.length))
            yield* flushIfFull()
          }
          break
        case 'market':
        case 'gap':
          yield NOTHING
          break
      }
    },
    *end(receipt) {
      if (batch.rows > 0) yield* flush()
      yield* sink.end(receipt)
    },
  }
}
