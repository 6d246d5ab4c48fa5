import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ReadRow } from '../../packages/service/src/api/bulk/read-back.testing.ts'
import { openSharedApi, type EmulatedApi } from '../api/emulated-api.ts'
import { DATASETS, download, rangeOf, walk } from '../api/file-rows.ts'
import { PYTHON, runPython } from './run-python.ts'

// The snippets of the page itself, so that what readers copy is what was tried.
const PAGE = readFileSync(join(import.meta.dirname, '../../docs/formats/export.md'), 'utf8')
const CSV = PAGE.slice(PAGE.indexOf('\n## CSV'), PAGE.indexOf('\n## Arrow'))
const [POLARS, PANDAS] = [...CSV.matchAll(/```python\n([\s\S]+?)```/g)].map(([, code]) => code!)
const [, SQL] = /```sql\n([\s\S]+?)```/.exec(CSV)!

// Rows as JSON: decimals as canonical text, times as microseconds, absent values as null.
const PRINT = `
import json, sys
from decimal import Decimal
from datetime import datetime, timezone
def cell(value):
    if value is None or value is pd_na or value != value: return None
    if isinstance(value, Decimal): return format(value.normalize(), 'f')
    if isinstance(value, datetime):
        since = value - datetime(1970, 1, 1, tzinfo=timezone.utc)
        return (since.days * 86400 + since.seconds) * 10**6 + since.microseconds
    return value if isinstance(value, str) else int(value)
def show(rows): print(json.dumps([{name: cell(value) for name, value in row.items()} for row in rows]))
`
const PROGRAMS = {
  polars: `${POLARS}\npd_na = object()\n${PRINT}\nshow(read(sys.argv[1]).to_dicts())`,
  pandas: `${PANDAS}\npd_na = pd.NA\n${PRINT}\nshow(read(sys.argv[1]).to_dict('records'))`,
  duckdb: `
import duckdb
pd_na = object()
${PRINT}
duckdb.sql("SET TimeZone = 'UTC'")
found = duckdb.sql("""${SQL}""".replace('trades.csv', sys.argv[1]))
show([dict(zip(found.columns, row)) for row in found.fetchall()])`,
}

let api: EmulatedApi
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'priorbook-csv-'))
  api = await openSharedApi()
}, 180_000)

afterAll(async () => {
  await api.close()
  rmSync(folder, { recursive: true, force: true })
})

describe.skipIf(PYTHON === undefined)('CSV read by the snippets of its page', () => {
  for (const { venue, dataset, page } of DATASETS) {
    it(`has what the pages hold: ${venue} ${dataset}`, async () => {
      const market = api.busiest[venue]
      const range = rangeOf(market)
      const rows = await walk(api, `${market.path}/${page}${range}`)
      expect(rows.length).toBeGreaterThan(0)
      const bulk = `/v3/bulk?venue=${venue}&market_id=${market.record.marketId}&dataset=${dataset}&${range}`
      const file = join(folder, `${venue}.csv`)
      writeFileSync(file, await download(api, `${bulk}&format=csv`))
      const wanted = rows.map(plain)
      for (const program of Object.values(PROGRAMS)) {
        const read = (await runPython(program, [file])) as ReadRow[]
        expect(read.map(plain)).toEqual(wanted)
      }
    }, 240_000)
  }
})

// Numbers inside ladders are compared as numbers; absent values are left out.
function plain(row: ReadRow): Record<string, unknown> {
  const said = Object.entries(row).flatMap(([name, value]) => {
    if (value === null || value === '') return []
    if (!/^(bids|asks|yes|no)_/.test(name)) return [[name, value] as const]
    const list = typeof value === 'string' ? (JSON.parse(value) as unknown[]) : (value as unknown[])
    return [[name, list.map(Number)] as const]
  })
  return Object.fromEntries(said.sort(([left], [right]) => (left < right ? -1 : 1)))
}
