import { crc32 } from 'node:zlib'
import {
  type BookPageOptions,
  createBookRenderer,
  CSV_COLUMNS,
  HISTORY_CSV_COLUMNS,
  referenceColumns,
  rowCell,
  sampleCsvColumns,
  toGapJson,
  toHistoryJson,
  toReferenceJson,
  toSampleJson,
  toTradeCells,
  toTradeJson,
  TRADE_CSV_COLUMNS,
  type SampleMetric,
  type TradeJson,
} from '@priorbook/sdk/wire'
import type { RunPart } from '../../rows/index.ts'
import type { BulkScope } from './scope.ts'
import { type BulkWriter, NOTHING } from './stream.ts'
import type { FileReceipt } from './tally.ts'
import type { WalkItem } from './bulk-walk.ts'

// Bytes of text per step, and max rows: rows of deep books are ten times longer than those of thin ones.
const STEP = 131_072
const ROWS_MAX = 1024

/**
 * Lines of JSON typed book, trade, sample, history, reference, gap, and at the end a receipt with the CRC-32 of all lines before
 * it. A SHA-256 would take half of the time, and the manifest has it.
 */
export function createNdjsonWriter(scope: BulkScope): BulkWriter {
  const renderer = createBookRenderer()
  let check = 0
  const options = optionsOf(scope)
  const rows = new StepSize()
  const checked = (bytes: Uint8Array): Uint8Array => {
    check = crc32(bytes, check)
    return bytes
  }
  return {
    begin: () => [],
    *write(item) {
      switch (item.kind) {
        case 'book':
          for (const pieces of cutPieces(item.pieces, () => rows.next)) {
            const bytes = renderer.renderNdjson(pieces, item.contexts, options)
            rows.learn(pieces, bytes.length)
            yield checked(bytes)
          }
          break
        case 'gap':
          yield checked(encodeLine({ type: 'gap', ...toGapJson(item.gap, scope.style) }))
          break
        case 'trade':
        case 'sample':
        case 'history':
        case 'reference':
          for (const values of rowValues(item, scope)) {
            yield checked(
              Buffer.from(values.map((value) => lineOf({ type: item.kind, ...value })).join('')),
            )
          }
          break
        case 'market':
          break
      }
    },
    *end(receipt: FileReceipt) {
      yield encodeLine({ type: 'receipt', ...receipt, crc32: check.toString(16).padStart(8, '0') })
    },
  }
}

/** A header line and one line a row; gaps and receipt are in the manifest. */
export function createCsvWriter(scope: BulkScope): BulkWriter {
  const renderer = createBookRenderer()
  const options = { ...optionsOf(scope), header: false }
  const rows = new StepSize()
  const columns = csvColumnsOf(scope)
  return {
    begin: () => [Buffer.from(`${columns.join(',')}\n`)],
    *write(item) {
      switch (item.kind) {
        case 'book':
          for (const pieces of cutPieces(item.pieces, () => rows.next)) {
            const bytes = renderer.renderCsv(pieces, item.contexts, options)
            rows.learn(pieces, bytes.length)
            yield bytes
          }
          break
        case 'trade':
        case 'sample':
        case 'history':
        case 'reference':
          for (const values of rowValues(item, scope)) {
            const lines = values.map((value) => {
              const cells = item.kind === 'trade' ? toTradeCells(value as TradeJson) : value
              return `${columns.map((name) => rowCell(name, cells[name])).join(',')}\n`
            })
            yield Buffer.from(lines.join(''))
          }
          break
        case 'market':
        case 'gap':
          yield NOTHING
          break
      }
    },
    end: () => [],
  }
}

/** The columns of the CSV file of a download. */
export function csvColumnsOf(scope: BulkScope): readonly string[] {
  switch (scope.dataset) {
    case 'books':
      return CSV_COLUMNS
    case 'trades':
      return TRADE_CSV_COLUMNS
    case 'samples':
      return sampleCsvColumns(scope.metric as SampleMetric)
    case 'history':
      return HISTORY_CSV_COLUMNS
    case 'reference':
      return referenceColumns(false)
  }
}

function optionsOf({ ladders, depth, style }: BulkScope): BookPageOptions {
  return { ladders, depth, numberFormat: style.numberFormat, timeFormat: style.timeFormat }
}

/** How many rows make one step of text, estimated from the previous rows. */
class StepSize {
  next = 64

  learn(pieces: readonly { readonly from: number; readonly to: number }[], bytes: number): void {
    let rows = 0
    for (const { from, to } of pieces) rows += to - from
    this.next = Math.max(1, Math.min(ROWS_MAX, Math.floor((STEP * rows) / bytes)))
  }
}

type RowsItem = Extract<WalkItem, { readonly kind: 'trade' | 'sample' | 'history' | 'reference' }>

const ROWS_STEP = 256

/** The rows of an item as JSON values, in slices. */
function* rowValues(item: RowsItem, scope: BulkScope): Generator<Record<string, unknown>[]> {
  for (let from = 0; from < item.rows.length; from += ROWS_STEP) {
    if (item.kind === 'trade') {
      const { contexts } = item
      yield item.rows
        .slice(from, from + ROWS_STEP)
        .map(({ columns, row, ordinal, lane }) =>
          toTradeJson(columns, row, ordinal, contexts[lane]!, scope.style),
        )
    } else if (item.kind === 'history') {
      const { contexts } = item
      yield item.rows
        .slice(from, from + ROWS_STEP)
        .map(({ columns, row, ordinal, lane }) =>
          toHistoryJson(columns, row, ordinal, contexts[lane]!, scope.style),
        )
    } else if (item.kind === 'reference') {
      const { contexts } = item
      yield item.rows
        .slice(from, from + ROWS_STEP)
        .map(({ columns, row, ordinal, lane }) =>
          toReferenceJson(columns, row, ordinal, contexts[lane]!, scope.style),
        )
    } else {
      const { contexts } = item
      yield item.rows
        .slice(from, from + ROWS_STEP)
        .map(({ columns, row, ordinal, lane }) =>
          toSampleJson(columns, row, ordinal, contexts[lane]!, scope.style),
        )
    }
  }
}

function lineOf(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}

function encodeLine(value: unknown): Uint8Array {
  return Buffer.from(lineOf(value))
}

/** Cuts observations into lists of at most `rows()` rows, which is asked again for each list. */
export function* cutPieces(
  pieces: readonly RunPart[],
  rows: () => number,
): Generator<readonly RunPart[]> {
  let list: RunPart[] = []
  let left = rows()
  for (const piece of pieces) {
    let { from } = piece
    while (piece.to - from >= left) {
      const to = from + left
      list.push(from === piece.from && to === piece.to ? piece : { ...piece, from, to })
      yield list
      from = to
      list = []
      left = rows()
    }
    if (from === piece.to) continue
    list.push(from === piece.from ? piece : { ...piece, from })
    left -= piece.to - from
  }
  if (list.length > 0) yield list
}
