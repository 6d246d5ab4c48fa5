import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readArrow, readParquet } from '../../packages/service/src/api/bulk/read-back.testing.ts'
import { openSharedApi, type EmulatedApi } from './emulated-api.ts'
import { DATASETS, differenceOf, download, rangeOf, walk } from './file-rows.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'

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
  api = await openSharedApi()
}, 180_000)

afterAll(() => api.close())

describe('files of columns', () => {
  for (const { venue, dataset, page } of DATASETS) {
    it(`hold what the pages hold: ${venue} ${dataset}`, async () => {
      const market = api.busiest[venue]
      const range = rangeOf(market)
      const rows = await walk(api, `${market.path}/${page}${range}`)
      expect(rows.length).toBeGreaterThan(0)
      const bulk = `/v3/bulk?venue=${venue}&market_id=${market.record.marketId}&dataset=${dataset}&${range}`
      const arrow = readArrow(await download(api, `${bulk}&format=arrow`))
      const parquet = await readParquet(await download(api, `${bulk}&format=parquet`))
      expect(differenceOf(arrow.rows, rows)).toBe('')
      expect(differenceOf(parquet.rows, rows)).toBe('')
    })
  }

  it('are those that the manifest describes', async () => {
    for (const venue of EMULATED_VENUES) {
      const market = api.busiest[venue]
      const query = `venue=${venue}&market_id=${market.record.marketId}&${rangeOf(market)}`
      const formats = ['ndjson', 'csv', 'arrow', 'parquet', 'tape']
      const { body } = await api.get(`/v3/bulk/manifest?${query}&formats=${formats.join()}`)
      const { data } = body as Manifest
      expect(data.files.map(({ format }) => format)).toEqual(formats)
      for (const { format, bytes, sha256 } of data.files) {
        const file = await download(api, `/v3/bulk?${query}&format=${format}`)
        expect([format, file.length]).toEqual([format, bytes])
        expect(createHash('sha256').update(file).digest('hex')).toBe(sha256)
      }
    }
  })
})
