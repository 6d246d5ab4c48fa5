import { parseScaled } from '../../domain/index.ts'
import { ByteWriter } from '../../tape/index.ts'
import {
  encodeThrift,
  ENCODING,
  PHYSICAL,
  REPETITION,
  writeHybrid,
  type ThriftStruct,
} from '../../parquet/index.ts'
import { MONEY_DECIMALS } from '../money.ts'
import type { ReportTable } from './print.ts'
import type { Report } from './report-shape.ts'

type Cell = string | number | bigint | null | undefined

/** Times are microseconds, money is decimal text or money units, both exact in the file. */
type Kind = 'text' | 'time' | 'whole' | 'number' | 'money'

type Column<Row> = readonly [name: string, kind: Kind, read: (row: Row) => Cell]

const FILLS: readonly Column<Report['fills_kept'][number]>[] = [
  ['id', 'whole', ({ id }) => id],
  ['order', 'whole', ({ order }) => order],
  ['time', 'time', ({ at }) => at],
  ['market', 'text', ({ market }) => market],
  ['outcome', 'whole', ({ outcome }) => outcome],
  ['side', 'text', ({ side }) => side],
  ['liquidity', 'text', ({ liquidity }) => liquidity],
  // Ten-thousandths, of which venues with finer ticks have fractions.
  ['price', 'number', ({ price }) => price / 10_000],
  ['size', 'money', ({ size }) => size],
  ['fee', 'money', ({ fee }) => fee],
  ['fee_shares', 'money', ({ feeShares }) => feeShares],
  ['evidence', 'text', ({ evidence }) => evidence],
  ['rows', 'text', ({ rows }) => JSON.stringify(rows)],
  ['book_age_us', 'whole', ({ bookAge }) => bookAge],
  ['tag', 'text', ({ tag }) => tag],
]

const ORDERS: readonly Column<Report['orders_kept'][number]>[] = [
  ['id', 'whole', ({ id }) => id],
  ['market', 'text', ({ market }) => market],
  ['outcome', 'whole', ({ outcome }) => outcome],
  ['side', 'text', ({ side }) => side],
  ['price', 'number', ({ price }) => (price === undefined ? null : price / 10_000)],
  // The size of a refused order may be any text.
  ['size', 'text', ({ size }) => size],
  ['filled', 'text', ({ filled }) => filled],
  ['state', 'text', ({ state }) => state],
  ['reason', 'text', ({ reason }) => reason],
  ['time_in_force', 'text', ({ timeInForce }) => timeInForce],
  ['sent', 'time', ({ sentAt }) => sentAt],
  ['arrived', 'time', ({ arrivedAt }) => arrivedAt],
  ['tag', 'text', ({ tag }) => tag],
]

const MARKETS: readonly Column<Report['markets'][number]>[] = [
  ['market', 'text', ({ market }) => market],
  ['event', 'text', ({ event }) => event],
  ['title', 'text', ({ title }) => title],
  ['status', 'text', ({ status }) => status],
  ['fills', 'whole', ({ fills }) => fills],
  ['pnl', 'money', ({ pnl }) => pnl],
  ['fees', 'money', ({ fees }) => fees],
  ['payouts', 'text', ({ payouts }) => (payouts === null ? null : JSON.stringify(payouts))],
  ['locked_s', 'number', ({ locked_s }) => locked_s],
  ['coverage', 'number', ({ coverage }) => coverage],
]

const EQUITY: readonly Column<Report['equity'][number]>[] = [
  ['time', 'time', ([at]) => at],
  ['equity', 'money', ([, equity]) => BigInt(equity)],
  ['capital', 'money', ([, , capital]) => BigInt(capital)],
]

const SETTLEMENTS: readonly Column<Report['settlements'][number]>[] = [
  ['time', 'time', ({ time }) => time],
  ['market', 'text', ({ market }) => market],
  ['payouts', 'text', ({ payouts }) => JSON.stringify(payouts)],
  ['paid', 'money', ({ paid }) => paid],
]

/** One table of a report as a Parquet file; money is DECIMAL(18, 8), times are UTC microseconds. */
export function reportParquet(report: Report, table: ReportTable): Uint8Array {
  switch (table) {
    case 'fills':
      return writeFile(FILLS, report.fills_kept)
    case 'orders':
      return writeFile(ORDERS, report.orders_kept)
    case 'markets':
      return writeFile(MARKETS, report.markets)
    case 'equity':
      return writeFile(EQUITY, report.equity)
    case 'settlements':
      return writeFile(SETTLEMENTS, report.settlements)
  }
}

const MAGIC = new TextEncoder().encode('PAR1')
const VERSION = 2
const DATA_PAGE_V2 = 3
const UNCOMPRESSED = 0

function writeFile<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): Uint8Array {
  const out = new ByteWriter()
  out.raw(MAGIC)
  const start = out.length
  const chunks = rows.length === 0 ? [] : columns.map((column) => writeChunk(out, column, rows))
  const size = BigInt(out.length - start)
  const count = BigInt(rows.length)
  const group = { 1: chunks, 2: size, 3: count, 5: BigInt(start), 6: size }
  const footer = encodeThrift({
    1: VERSION,
    2: [
      { 4: 'schema', 5: columns.length },
      ...columns.map(([name, kind]) => ({ 3: REPETITION.optional, 4: name, ...TYPES[kind] })),
    ],
    3: count,
    4: rows.length === 0 ? [] : [group],
    6: 'priorbook',
  })
  out.raw(footer)
  writeLength(out, footer.length)
  out.raw(MAGIC)
  return out.copy()
}

// Physical type (1), converted type (6) with scale (7) and precision (8), logical type (10).
const TYPES: Readonly<Record<Kind, ThriftStruct>> = {
  text: { 1: PHYSICAL.byteArray, 6: 0, 10: { 1: {} } },
  time: { 1: PHYSICAL.int64, 6: 10, 10: { 8: { 1: true, 2: { 2: {} } } } },
  whole: { 1: PHYSICAL.int64 },
  number: { 1: PHYSICAL.double },
  money: {
    1: PHYSICAL.int64,
    6: 5,
    7: MONEY_DECIMALS,
    8: 18,
    10: { 5: { 1: MONEY_DECIMALS, 2: 18 } },
  },
}

function writeChunk<Row>(
  out: ByteWriter,
  [name, kind, read]: Column<Row>,
  rows: readonly Row[],
): ThriftStruct {
  const offset = out.length
  const cells = rows.map(read)
  const levels = new ByteWriter()
  const present = Uint8Array.from(cells, (cell) => (cell === null || cell === undefined ? 0 : 1))
  const defined = writeHybrid(levels, present, 1)
  const data = new ByteWriter()
  for (const cell of cells) if (cell !== null && cell !== undefined) writeCell(data, kind, cell)
  const nulls = present.reduce((sum, level) => sum + 1 - level, 0)
  const length = levels.length + data.length
  const page = {
    1: rows.length,
    2: nulls,
    3: rows.length,
    4: ENCODING.plain,
    5: defined,
    6: 0,
    7: false,
  }
  out.raw(encodeThrift({ 1: DATA_PAGE_V2, 2: length, 3: length, 8: page }))
  out.raw(levels.copy())
  out.raw(data.copy())
  const size = BigInt(out.length - offset)
  return {
    2: BigInt(offset),
    3: {
      1: TYPES[kind][1],
      2: [ENCODING.plain, ENCODING.rle],
      3: [name],
      4: UNCOMPRESSED,
      5: BigInt(rows.length),
      6: size,
      7: size,
      9: BigInt(offset),
    },
  }
}

const WORD = new DataView(new ArrayBuffer(8))
const WORD_BYTES = new Uint8Array(WORD.buffer)

function writeCell(out: ByteWriter, kind: Kind, cell: string | number | bigint): void {
  if (kind === 'text') {
    const bytes = new TextEncoder().encode(String(cell))
    writeLength(out, bytes.length)
    out.raw(bytes)
    return
  }
  if (kind === 'number') WORD.setFloat64(0, Number(cell), true)
  else if (kind === 'money' && typeof cell === 'string') {
    WORD.setBigInt64(0, BigInt(parseScaled(cell, MONEY_DECIMALS)), true)
  } else WORD.setBigInt64(0, BigInt(cell), true)
  out.raw(WORD_BYTES)
}

function writeLength(out: ByteWriter, length: number): void {
  WORD.setUint32(0, length, true)
  out.raw(WORD_BYTES.subarray(0, 4))
}
