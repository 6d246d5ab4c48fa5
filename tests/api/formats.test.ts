import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VENUE_IDS } from '@priorbook/sdk/domain'
import {
  readArrow,
  readParquet,
  type ReadRow,
} from '../../packages/service/src/api/bulk/read-back.testing.ts'
import { openEmulatedApi, type BusyMarket, type EmulatedApi } from './emulated-api.ts'

type Page = {
  readonly data: readonly JsonRow[]
  readonly pagination: { readonly next_cursor: string | null }
}
type JsonRow = Readonly<Record<string, unknown>>
type Ladder = { readonly price: unknown; readonly size: unknown }
type Manifest = {
  readonly data: {
    readonly rows: number
    readonly files: readonly {
      readonly format: string
      readonly bytes: number
      readonly sha256: string
    }[]
  }
}

let api: EmulatedApi

beforeAll(async () => {
  api = await openEmulatedApi({ ms: 2500, speed: 30 })
}, 60_000)

afterAll(() => api.close())

const DATASETS = [
  { venue: 'venuea', dataset: 'books', page: 'snapshots?include_orderbook=true&' },
  { venue: 'venueb', dataset: 'books', page: 'snapshots?include_orderbook=true&' },
  { venue: 'venuec', dataset: 'books', page: 'snapshots?include_orderbook=true&' },
  { venue: 'venueb', dataset: 'trades', page: 'trades?' },
  { venue: 'venuec', dataset: 'trades', page: 'trades?' },
  { venue: 'venuea', dataset: 'samples&metric=chance', page: 'timeseries?metric=chance&' },
] as const

describe('files of columns', () => {
  for (const { venue, dataset, page } of DATASETS) {
    it(`hold what the pages hold: ${venue} ${dataset}`, async () => {
      const market = api.busiest[venue]
      const range = rangeOf(market)
      const rows = await walk(`${market.path}/${page}${range}`)
      expect(rows.length).toBeGreaterThan(0)
      const bulk = `/v3/bulk?venue=${venue}&market_id=${market.record.marketId}&dataset=${dataset}&${range}`
      const arrow = readArrow(await download(`${bulk}&format=arrow`))
      const parquet = await readParquet(await download(`${bulk}&format=parquet`))
      expect(differenceOf(arrow.rows, rows)).toBe('')
      expect(differenceOf(parquet.rows, rows)).toBe('')
    })
  }

  it('are those that the manifest describes', async () => {
    for (const venue of VENUE_IDS) {
      const market = api.busiest[venue]
      const query = `venue=${venue}&market_id=${market.record.marketId}&${rangeOf(market)}`
      const formats = ['ndjson', 'csv', 'arrow', 'parquet', 'tape']
      const { body } = await api.get(`/v3/bulk/manifest?${query}&formats=${formats.join()}`)
      const { data } = body as Manifest
      expect(data.files.map(({ format }) => format)).toEqual(formats)
      for (const { format, bytes, sha256 } of data.files) {
        const file = await download(`/v3/bulk?${query}&format=${format}`)
        expect([format, file.length]).toEqual([format, bytes])
        expect(createHash('sha256').update(file).digest('hex')).toBe(sha256)
      }
    }
  })
})

// Ends before the last row: nothing of it can change any more.
function rangeOf({ first, last }: BusyMarket): string {
  return `start_time=${first}&end_time=${last}`
}

async function download(url: string): Promise<Uint8Array> {
  const { status, bytes } = await api.get(url)
  if (status !== 200) throw new Error(`${url}: ${Buffer.from(bytes).toString().slice(0, 300)}`)
  return bytes
}

async function walk(url: string): Promise<ReadRow[]> {
  const rows: ReadRow[] = []
  const first = `${url}&limit=1000&number_format=string&time_format=epoch_us`
  for (let next = first; ;) {
    const { body } = await api.get(next)
    const { data, pagination } = body as Page
    rows.push(...data.map(flatten))
    if (pagination.next_cursor === null) return rows
    next = `${first}&cursor=${pagination.next_cursor}`
  }
}

// A row as the columns of a file name it.
function flatten(row: JsonRow): ReadRow {
  const { native, flags, bids, asks, yes, no, ...rest } = row
  const said = native as Readonly<Record<string, unknown>> | undefined
  const flat: Record<string, unknown> = { ...rest, flags: (flags as string[]).join('|') }
  for (const [side, ladder] of Object.entries({ bids, asks, yes, no })) {
    if (ladder === undefined) continue
    const { price, size } = ladder as Ladder
    flat[`${side}_price`] = price
    flat[`${side}_size`] = size
  }
  // Files of columns leave out the number of the connection, which NDJSON and CSV have.
  for (const name of ['taker_side', 'sid', 'seq']) {
    if (said?.[name] !== undefined) flat[`native_${name}`] = said[name]
  }
  return flat
}

// Says where two lists part. A column that no row of JSON has must be empty.
function differenceOf(file: readonly ReadRow[], pages: readonly ReadRow[]): string {
  if (file.length !== pages.length) return `${file.length} rows for ${pages.length}`
  for (const [index, row] of file.entries()) {
    const page = pages[index]!
    for (const name of new Set([...Object.keys(row), ...Object.keys(page)])) {
      const [left, right] = [row[name] ?? null, page[name] ?? null]
      if (JSON.stringify(left) !== JSON.stringify(right)) {
        return `${String(row['id'])} ${name}: ${JSON.stringify(left)} for ${JSON.stringify(right)}`
      }
    }
  }
  return ''
}
