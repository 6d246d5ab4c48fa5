import { createRequire } from 'node:module'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ReadRow } from '../../packages/service/src/api/bulk/read-back.testing.ts'
import { openSharedApi, type EmulatedApi } from '../api/emulated-api.ts'
import { DATASETS, differenceOf, download, rangeOf, walk } from '../api/file-rows.ts'

// The parts of its package that are used here.
type DuckDb = {
  readonly DuckDBInstance: {
    create(path: string): Promise<{
      connect(): Promise<Connection>
      closeSync(): void
    }>
  }
}
type Connection = {
  runAndReadAll(sql: string): Promise<{ getRowObjectsJson(): Record<string, unknown>[] }>
  closeSync(): void
}

const peers = createRequire(new URL('../../bench/peers/package.json', import.meta.url))
let api: EmulatedApi
let folder: string
let connection: Connection
let close: () => void

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'priorbook-duckdb-'))
  const { DuckDBInstance } = peers('@duckdb/node-api') as DuckDb
  const instance = await DuckDBInstance.create(':memory:')
  connection = await instance.connect()
  close = () => {
    connection.closeSync()
    instance.closeSync()
  }
  api = await openSharedApi()
}, 180_000)

afterAll(async () => {
  await api.close()
  close()
  rmSync(folder, { recursive: true, force: true })
})

describe('DuckDB reads in a Parquet file what the pages hold', () => {
  for (const { venue, dataset, page } of DATASETS) {
    it(`${venue} ${dataset}`, async () => {
      const market = api.busiest[venue]
      const range = rangeOf(market)
      const rows = await walk(api, `${market.path}/${page}${range}`)
      expect(rows.length).toBeGreaterThan(0)
      const bulk = `/v3/bulk?venue=${venue}&market_id=${market.record.marketId}&dataset=${dataset}&${range}`
      const file = join(folder, `${venue}.parquet`)
      writeFileSync(file, await download(api, `${bulk}&format=parquet`))
      expect(differenceOf(await readRows(file), rows)).toBe('')
    })
  }

  it('CSV too, by its header and its quotes', async () => {
    const market = api.busiest.venueb
    const range = rangeOf(market)
    const rows = await walk(api, `${market.path}/snapshots?include_orderbook=true&${range}`)
    const file = join(folder, 'books.csv')
    const bulk = `/v3/bulk?venue=venueb&market_id=${market.record.marketId}&${range}&format=csv`
    writeFileSync(file, await download(api, bulk))
    const read = await connection.runAndReadAll(
      `SELECT id, CAST(bids_price AS VARCHAR) AS bids FROM read_csv('${file}', all_varchar = true)`,
    )
    const found = read.getRowObjectsJson().map(({ id, bids }) => [id, JSON.parse(String(bids))])
    const wanted = rows.map((row) => [row['id'], (row['bids_price'] as string[]).map(Number)])
    expect(found).toEqual(wanted)
  })
})

// Decimals as canonical text, times as microseconds, as the pages were asked for them.
async function readRows(file: string): Promise<ReadRow[]> {
  const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM '${file}'`)
  const columns = described.getRowObjectsJson().map((row) => ({
    name: String(row['column_name']),
    type: String(row['column_type']),
  }))
  const picked = columns.map(({ name, type }) => {
    if (type.startsWith('TIMESTAMP')) return `CAST(epoch_us(${name}) AS DOUBLE) AS ${name}`
    if (type === 'BIGINT') return `CAST(${name} AS DOUBLE) AS ${name}`
    if (type.endsWith('[]')) return `CAST(${name} AS VARCHAR[]) AS ${name}`
    return type.startsWith('DECIMAL') ? `CAST(${name} AS VARCHAR) AS ${name}` : name
  })
  const read = await connection.runAndReadAll(`SELECT ${picked.join(', ')} FROM '${file}'`)
  const decimals = new Set(
    columns.flatMap(({ name, type }) => (type.startsWith('DECIMAL') ? name : [])),
  )
  return read.getRowObjectsJson().map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => {
        if (!decimals.has(name) || value === null) return [name, value]
        return [name, Array.isArray(value) ? value.map(canonical) : canonical(value)]
      }),
    ),
  )
}

function canonical(text: unknown): string {
  return String(text)
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')
}
