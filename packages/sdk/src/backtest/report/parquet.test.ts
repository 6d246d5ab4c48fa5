import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { describe, expect, it, onTestFinished } from 'vitest'
import { dataFile } from '../feeds/data-file-node.ts'
import { randomStrategy, randomTape } from '../random-tape.testing.ts'
import { backtest } from '../run.ts'
import { reportParquet } from './parquet.ts'
import { REPORT_TABLES } from './print.ts'
import type { Report } from './report-shape.ts'

async function reportOf(): Promise<Report> {
  const events = randomTape(3, 300).batches()
  const { report } = await backtest({
    events,
    strategy: () => randomStrategy(),
    queue: 'optimistic',
  })
  return report
}

const MICROS = {
  timestampFromMilliseconds: (value: bigint) => value * 1000n,
  timestampFromMicroseconds: (value: bigint) => value,
  timestampFromNanoseconds: (value: bigint) => value / 1000n,
}

// hyparquet multiplies decimals as doubles; the stored whole numbers are compared.
const units = (value: unknown): number => Math.round(Number(value) * 1e8)

function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return bytes.slice().buffer
}

describe('a report as Parquet', () => {
  it('has every row and value of the report, read back with hyparquet', async () => {
    const report = await reportOf()
    expect(report.fills_kept.length).toBeGreaterThan(10)
    const read = async (table: (typeof REPORT_TABLES)[number]) =>
      parquetReadObjects({ file: bufferOf(reportParquet(report, table)), parsers: MICROS })
    const fills = await read('fills')
    expect(fills).toHaveLength(report.fills_kept.length)
    for (const [index, fill] of report.fills_kept.entries()) {
      expect(fills[index]).toMatchObject({
        id: BigInt(fill.id),
        order: BigInt(fill.order),
        time: BigInt(fill.at),
        market: fill.market,
        side: fill.side,
        price: fill.price / 10_000,
        rows: JSON.stringify(fill.rows),
        tag: fill.tag ?? null,
      })
      const { size, fee } = fills[index]!
      expect([size, fee].map(units)).toEqual([fill.size, fill.fee].map(units))
    }
    const orders = await read('orders')
    expect(orders.map(({ id, state, arrived }) => [id, state, arrived])).toEqual(
      report.orders_kept.map(({ id, state, arrivedAt }) => [
        BigInt(id),
        state,
        arrivedAt === undefined ? null : BigInt(arrivedAt),
      ]),
    )
    const equity = await read('equity')
    expect(equity.map(({ time, equity: own }) => [time, units(own)])).toEqual(
      report.equity.map(([at, own]) => [BigInt(at), own]),
    )
    const markets = await read('markets')
    expect(markets.map(({ market, pnl }) => [market, units(pnl)])).toEqual(
      report.markets.map(({ market, pnl }) => [market, units(pnl)]),
    )
    expect(await read('settlements')).toHaveLength(report.settlements.length)
  })

  it('names types: money is DECIMAL(18, 8), times are UTC microseconds; a table may be empty', async () => {
    const report = await reportOf()
    const { schema } = parquetMetadata(bufferOf(reportParquet(report, 'equity')))
    expect(schema.slice(1).map(({ name, logical_type: type }) => [name, type?.type])).toEqual([
      ['time', 'TIMESTAMP'],
      ['equity', 'DECIMAL'],
      ['capital', 'DECIMAL'],
    ])
    expect(schema[2]).toMatchObject({ scale: 8, precision: 18 })
    const empty = reportParquet({ ...report, settlements: [] }, 'settlements')
    expect(await parquetReadObjects({ file: bufferOf(empty) })).toEqual([])
  })

  it('can be played as a series of one’s own', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'priorbook-parquet-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const report = await reportOf()
    const path = join(folder, 'equity.parquet')
    writeFileSync(path, reportParquet(report, 'equity'))
    const rows: number[][] = []
    for await (const { time, values } of dataFile(path)) {
      rows.push([time, units(values['equity']), units(values['capital'])])
    }
    expect(rows).toEqual(report.equity)
  })
})
