import { printMicros, toMicros, VENUE_IDS, VENUES } from '@priorbook/sdk/domain'
import { MEDIA_TYPES, PANEL_COLUMNS, type PanelRowJson } from '@priorbook/sdk/wire'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import { createArrowSink } from '../bulk/arrow.ts'
import {
  ColumnBatch,
  NumberColumn,
  TextColumn,
  type ColumnSpec,
  type ColumnType,
} from '../bulk/columns.ts'
import { createParquetSink } from '../bulk/parquet.ts'
import { Pieces } from '../bulk/stream.ts'
import type { Answer } from '../route.ts'
import type { PanelPage, PanelQuery, PanelWalk } from './panel-page.ts'

// Rows per read: a batch of columns, and of memory.
const PAGE_ROWS = 1000

/** Answers with all rows of a panel as one file; rounds are read while the client reads. */
export async function panelFile(
  walk: PanelWalk,
  query: PanelQuery,
  format: 'arrow' | 'parquet',
  signal: AbortSignal,
): Promise<Answer> {
  // The first page is read here, so that an error in it is still answered with a problem document.
  const first = await walk.page(undefined, PAGE_ROWS)
  const name = `panels-${query.asset}-${query.window}.${format}`.replaceAll(/[^\w.-]/g, '_')
  return {
    kind: 'stream',
    contentType: MEDIA_TYPES[format][0],
    headers: { 'Content-Disposition': `attachment; filename="${name}"` },
    body: writeFile(walk, first, query, format, signal),
  }
}

async function* writeFile(
  walk: PanelWalk,
  first: PanelPage,
  query: PanelQuery,
  format: 'arrow' | 'parquet',
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const createSink = format === 'arrow' ? createArrowSink : createParquetSink
  const sink = createSink(COLUMNS, new Map([['priorbook.panel', describe(query)]]))
  const batch = new ColumnBatch(COLUMNS)
  const pieces = new Pieces()
  for (const bytes of sink.begin()) yield* pieces.add(bytes)
  let count = 0
  for (let page = first; ; page = await walk.page(page.next, PAGE_ROWS)) {
    for (const row of page.rows) push(batch, row)
    count += page.rows.length
    if (page.rows.length > 0) {
      for (const bytes of sink.write(batch)) yield* pieces.add(bytes)
      batch.clear()
    }
    await yieldToEventLoop()
    if (signal.aborted) return
    if (page.next === undefined) break
  }
  for (const bytes of sink.end({ rows: count, gaps: 0 })) yield* pieces.add(bytes)
  yield* pieces.rest()
}

function describe({ asset, window, venues, from, end, order, offsets }: PanelQuery): string {
  const print = (time: number): string => printMicros(toMicros(time))
  return JSON.stringify({
    asset,
    window,
    venue: venues ?? VENUE_IDS,
    from: print(from),
    to: print(end),
    at: offsets.map((offset) => `${offset}s`),
    order,
  })
}

// Venues differ in their decimals, and a panel may hold all of them: each column has the finest.
const PRICE_DECIMALS = Math.max(...VENUE_IDS.map((venue) => VENUES[venue].priceDecimals))
const SIZE_DECIMALS = Math.max(...VENUE_IDS.map((venue) => VENUES[venue].sizeDecimals))
const AGE_DECIMALS = 3

const TIME: ColumnType = { kind: 'time' }
const PRICE: ColumnType = { kind: 'decimal', precision: 9, scale: PRICE_DECIMALS }
const SIZE: ColumnType = { kind: 'decimal', precision: 18, scale: SIZE_DECIMALS }
const AGE: ColumnType = { kind: 'decimal', precision: 18, scale: AGE_DECIMALS }

// All others are text: prices of underlyings have up to 18 decimals, which few readers of decimals take.
const TYPES: Partial<Record<keyof PanelRowJson, ColumnType>> = {
  open_time: TIME,
  close_time: TIME,
  at: TIME,
  book_time: TIME,
  offset_s: { kind: 'int32' },
  best_bid: PRICE,
  best_ask: PRICE,
  bid_size: SIZE,
  ask_size: SIZE,
  mid: { kind: 'decimal', precision: 9, scale: PRICE_DECIMALS + 1 },
  age_ms: AGE,
  reference_age_ms: AGE,
}
const REQUIRED: readonly (keyof PanelRowJson)[] = [
  'venue',
  'market_id',
  'close_time',
  'offset_s',
  'at',
]

/** The columns of Arrow and Parquet files: the names and the order of CSV. */
const COLUMNS: readonly ColumnSpec[] = PANEL_COLUMNS.map((name) => ({
  name,
  type: TYPES[name] ?? { kind: 'text' },
  isNullable: !REQUIRED.includes(name),
  isList: false,
}))

function push(batch: ColumnBatch, row: PanelRowJson): void {
  for (const [index, name] of PANEL_COLUMNS.entries()) {
    const column = batch.columns[index]!
    const value = row[name]
    if (column instanceof TextColumn) {
      column.pushCode(column.codeOf(value === null ? undefined : String(value)))
    } else if (!(column instanceof NumberColumn)) throw new Error(`${name} is unique text`)
    else if (value === null) column.pushNull()
    else if (column.spec.type.kind !== 'decimal') column.push(Number(value))
    else if (column.values.isWide) column.pushBig(scaled(String(value), column.spec.type.scale))
    else column.push(Number(scaled(String(value), column.spec.type.scale)))
  }
  batch.rows++
}

/** A plain decimal as a whole number of 10^−scale. The largest sizes have more digits than a double. */
function scaled(text: string, scale: number): bigint {
  const [whole, fraction = ''] = text.split('.')
  return BigInt(`${whole}${fraction.padEnd(scale, '0')}`)
}
