import type { ColumnChunk, ColumnMetaData, FileMetaData, RowGroup, SchemaElement } from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer'
import { writeMetadata } from 'hyparquet-writer/src/metadata.js'
import type { ColumnBatch, ColumnSpec } from './column-batch.ts'
import { ParquetColumn, SharedPages } from './parquet-column.ts'
import type { FileReceipt } from './tally.ts'
import type { ColumnSink } from './write-columns.ts'

// A row group for so many rows, or when its packed pages take so much memory.
const GROUP_ROWS = 131_072
const GROUP_BYTES = 16_777_216

/**
 * A Parquet file, packed by zstd. Every batch of rows becomes a page of each column at once; only
 * packed pages wait until their row group is written, so memory does not grow with the file. Schema
 * and footer are written by hyparquet-writer, whose own way of writing needs a whole row group as
 * JavaScript values.
 */
export function createParquetSink(
  specs: readonly ColumnSpec[],
  metadata: ReadonlyMap<string, string>,
): ColumnSink {
  const columns = specs.map((spec) => new ParquetColumn(spec))
  const groups: RowGroup[] = []
  let offset = 0
  let rows = 0
  let total = 0
  const sent = (bytes: Uint8Array): Uint8Array => {
    offset += bytes.length
    return bytes
  }

  function* endGroup(): Generator<Uint8Array> {
    if (rows === 0) return
    const start = offset
    const chunks: ColumnChunk[] = []
    let unpacked = 0
    for (const column of columns) {
      const packed = column.takeChunk(offset)
      chunks.push({ file_offset: BigInt(offset), meta_data: packed.metadata as ColumnMetaData })
      unpacked += Number(packed.metadata.total_uncompressed_size)
      for (const bytes of packed.pages) yield sent(bytes)
    }
    groups.push({
      columns: chunks,
      total_byte_size: BigInt(unpacked),
      total_compressed_size: BigInt(offset - start),
      file_offset: BigInt(start),
      num_rows: BigInt(rows),
    })
    total += rows
    rows = 0
  }
  return {
    *begin() {
      yield sent(MAGIC)
    },
    *write(batch: ColumnBatch) {
      const made = new SharedPages()
      for (const [index, column] of columns.entries()) {
        column.addPage(batch.columns[index]!, made)
        if (index % COLUMNS_A_STEP === 0) yield sent(EMPTY)
      }
      rows += batch.rows
      const waiting = columns.reduce((sum, column) => sum + column.waiting, 0)
      if (rows >= GROUP_ROWS || waiting >= GROUP_BYTES) yield* endGroup()
    },
    *end(receipt: FileReceipt) {
      yield* endGroup()
      const keys = [...metadata, ['priorbook.receipt', JSON.stringify(receipt)] as const]
      const footer = {
        version: 2,
        schema: [{ name: 'rows', num_children: specs.length }, ...columns.flatMap(toElements)],
        num_rows: BigInt(total),
        row_groups: groups,
        key_value_metadata: keys.map(([key, value]) => ({ key, value })),
        created_by: 'priorbook',
      }
      const out = new ByteWriter()
      // The length of the metadata is the writer's own business.
      writeMetadata(out, footer as unknown as FileMetaData)
      yield sent(out.getBytes())
      yield sent(MAGIC)
    },
  }
}

const MAGIC = Buffer.from('PAR1')
const EMPTY = new Uint8Array(0)
// Pages of so many columns are made between two turns of the event loop.
const COLUMNS_A_STEP = 4

function toElements(column: ParquetColumn): readonly SchemaElement[] {
  return column.elements
}
