import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { printMicros, toMicros } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import { openEmbeddedStore, type EmbeddedStore } from '../../store/embedded/open.ts'
import { countOf, createTempFolder } from '../../store/embedded/temp-folder.testing.ts'
import { createTestGrant } from '../caller.testing.ts'
import {
  createBulkCaller,
  createWindowGrant,
  type BulkCaller,
  type CallOptions,
} from './bulk.testing.ts'
import { MADE_START, makeMarket } from './generated-market.testing.ts'
import { FILE_FORMATS } from '@priorbook/sdk/wire'
import { readArrow, readParquet } from './read-back.testing.ts'
import { readContainer } from './tape-container.ts'

const ROWS = countOf(1_000_000, 30_000)
const MARKET = 'venue=venueb&market_id=KXMADE-1'
const DAY = `${MARKET}&day=2026-08-11`
const SOME = `${MARKET}&start_time=${MADE_START}&end_time=${MADE_START + 5000 * 20_000}`

let folder: string
let store: EmbeddedStore
let caller: BulkCaller

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'priorbook-bulk-'))
  store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  for (const batch of makeMarket(ROWS)) await store.append(batch)
  await store.seal()
  caller = createBulkCaller(store)
}, 600_000)

afterAll(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

// First of all: later tests hold whole files and leave a larger heap behind.
describe('memory', () => {
  it('does not grow with the rows of a file', async () => {
    const drain = async (query: string): Promise<number> => {
      let most = 0
      const { body } = await caller.open(query)
      for await (const { length } of body) {
        if (length > 0) most = Math.max(most, process.memoryUsage().rss)
      }
      return most
    }
    for (const format of ['ndjson', 'arrow', 'parquet']) {
      await drain(`${SOME}&format=${format}`)
      const before = process.memoryUsage().rss
      const growth = (await drain(`${DAY}&format=${format}`)) - before
      // 30,000 rows are 90 MB of Arrow, a million 3 GB; a new heap grows by 30 MB whatever it does.
      expect(growth).toBeLessThan(64_000_000)
    }
  }, 600_000)
})

type File = { readonly format: string; readonly bytes: number; readonly sha256: string | null }
type Data = {
  readonly rows: number
  readonly files: readonly File[]
  readonly receipt: { readonly rows: number } | null
}

describe('a manifest', () => {
  it('has bytes and hash of every file', async () => {
    const scope = `${MARKET}&start_time=${MADE_START}&end_time=${MADE_START + 4000 * 20_000}`
    const { data } = await caller.manifest(`${scope}&formats=${FILE_FORMATS.join(',')}`)
    const { files, rows, receipt } = data as Data
    expect(rows).toBe(4000)
    expect(receipt?.rows).toBe(4000)
    for (const { format, bytes, sha256 } of files) {
      const file = await caller.bytes(`${scope}&format=${format}`)
      expect([format, file.length]).toEqual([format, bytes])
      expect(createHash('sha256').update(file).digest('hex')).toBe(sha256)
    }
  })

  it('estimates rows exactly and bytes roughly', async () => {
    const scope = `${MARKET}&start_time=${MADE_START + 7}&end_time=${MADE_START + 9000 * 20_000}`
    const formats = FILE_FORMATS.join(',')
    const told = (await caller.manifest(`${scope}&formats=${formats}`)).data as Data
    const guess = (await caller.manifest(`${scope}&formats=${formats}&estimate=true`)).data as Data
    expect(guess.rows).toBe(told.rows)
    for (const [index, { format, bytes }] of told.files.entries()) {
      const ratio = guess.files[index]!.bytes / bytes
      expect([format, ratio > 0.5 && ratio < 2]).toEqual([format, true])
      expect(guess.files[index]!.sha256).toBeNull()
    }
  })
})

describe('a file', () => {
  it.each([
    ['ndjson', 'application/x-ndjson', 'venueb_KXMADE-1_books_2026-08-11.ndjson'],
    ['csv', 'text/csv; charset=utf-8; header=present', 'venueb_KXMADE-1_books_2026-08-11.csv'],
    ['tape', 'application/vnd.priorbook.tape', 'venueb_KXMADE-1_books_2026-08-11.pbx'],
  ])('%s has a type and a name', async (format, type, name) => {
    const { contentType, headers } = await caller.open(`${DAY}&format=${format}`)
    expect(contentType).toBe(type)
    expect(headers['Content-Disposition']).toBe(`attachment; filename="${name}"`)
  })

  it.each([
    ['the day before', 'day=2026-08-10', 'market_not_open'],
    ['a day to come', 'day=2027-02-01', 'future_range'],
    ['a day without rows', 'day=2026-08-20', 'no_rows_in_range'],
  ])('of %s is empty and says why', async (_name, range, code) => {
    const scope = `${MARKET}&${range}`
    const receipt = JSON.parse((await caller.bytes(scope)).toString()) as {
      type: string
      rows: number
      notice: { code: string }[]
    }
    expect(receipt).toMatchObject({ type: 'receipt', rows: 0 })
    expect(receipt.notice.map((notice) => notice.code)).toEqual([code])
    expect((await caller.bytes(`${scope}&format=csv`)).toString().split('\n')).toHaveLength(2)
    expect(readArrow(await caller.bytes(`${scope}&format=arrow`)).rows).toEqual([])
    const parquet = await readParquet(await caller.bytes(`${scope}&format=parquet`))
    expect(parquet.rows).toEqual([])
    expect(parquet.metadata.schema.length).toBeGreaterThan(20)
    const { meta } = await caller.manifest(scope)
    expect(meta.notice).toMatchObject({ code })
  })

  it('ends where it is now, and is then not final', async () => {
    const early = createBulkCaller(store, MADE_START + 1000 * 20_000)
    expect(receiptOf(await early.bytes(DAY))).toMatchObject({ rows: 1000, is_final: false })
    expect(receiptOf(await caller.bytes(DAY))).toMatchObject({ rows: ROWS, is_final: true })
  })
})

/** The last line of a file, which in full runs is longer than a text can be. */
function receiptOf(file: Buffer): { readonly notice: unknown[] } {
  const line = file.subarray(-10_000).toString().trimEnd().split('\n').at(-1)!
  return JSON.parse(line) as { notice: unknown[] }
}

async function refusal(query: string, options?: CallOptions): Promise<string> {
  try {
    await caller.open(query, options)
    return 'none'
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return `${error.code} ${error.fields.param ?? ''}`
  }
}

describe('what is refused', () => {
  it.each([
    ['venue=venuex&market_id=1', 'invalid_parameter venue'],
    ['market_id=KXMADE-1', 'invalid_parameter venue'],
    ['venue=venueb', 'invalid_parameter series'],
    ['venue=venuec&day=2026-08-11', 'invalid_parameter asset'],
    ['venue=venueb&market_id=KXNONE', 'unknown_market market_id'],
    ['venue=venueb&series=KXNONE&day=2026-08-11', 'unknown_market series'],
    ['venue=venuec&asset=doge&day=2026-08-11', 'unknown_asset asset'],
    ['venue=venueb&series=KXMADE', 'invalid_parameter day'],
    ['venue=venueb&series=KXMADE&market_id=KXMADE-1', 'invalid_parameter series'],
    [`${DAY}&start_time=2026-08-11T00:00:00Z`, 'invalid_parameter start_time'],
    [`${MARKET}&day=2026-02-30`, 'invalid_parameter day'],
    [`${MARKET}&day=yesterday`, 'invalid_parameter day'],
    [
      `${MARKET}&start_time=2026-08-12T00:00:00Z&end_time=2026-08-11T00:00:00Z`,
      'invalid_range end_time',
    ],
    [`${DAY}&dataset=samples`, 'invalid_parameter metric'],
    [`${DAY}&metric=price`, 'invalid_parameter metric'],
    [`${DAY}&format=json`, 'invalid_parameter format'],
    [`${DAY}&format=tape&depth=5`, 'invalid_parameter depth'],
    [`${DAY}&format=parquet&time_format=iso`, 'invalid_parameter time_format'],
    [`${DAY}&limit=5`, 'unknown_parameter limit'],
  ])('%s', async (query, wanted) => {
    expect(await refusal(query)).toBe(wanted)
  })

  it('a venue, an asset and more than 31 days without the plan', async () => {
    const refuse = (): never => {
      throw new Problem('plan_required', 'not in the plan')
    }
    const [wide, narrow] = ['2026-09-12T00:00:01Z', '2026-09-11T00:00:00Z'].map(
      (end) => `${MARKET}&start_time=2026-08-11T00:00:00Z&end_time=${end}`,
    )
    const short = createTestGrant({ requireFeature: refuse })
    expect(await refusal(wide!, { grant: short })).toBe('plan_required ')
    expect(await refusal(narrow!, { grant: short })).toBe('none')
    expect(await refusal(MARKET, { grant: short })).toBe('none')
    const noVenue = createTestGrant({ requireVenue: refuse })
    expect(await refusal('venue=venueb&market_id=KXNONE', { grant: noVenue })).toBe(
      'plan_required ',
    )
    const noAsset = createTestGrant({ requireAsset: refuse })
    const family = 'venue=venuec&asset=doge&day=2026-08-11'
    expect(await refusal(family, { grant: noAsset })).toBe('plan_required ')
  })

  it('rows before the window of the plan, with a notice', async () => {
    const start = MADE_START + 2000 * 20_000
    const receipt = receiptOf(await caller.bytes(DAY, { grant: createWindowGrant(start) }))
    expect(receipt).toMatchObject({
      rows: ROWS - 2000,
      instruments: [{ key: 'KXMADE-1', first: 2001, last: ROWS, rows: ROWS - 2000 }],
    })
    expect(receipt.notice).toMatchObject([{ code: 'plan_window' }])
    const past = createWindowGrant(MADE_START + 5 * 86_400_000_000)
    const nothing = receiptOf(await caller.bytes(DAY, { grant: past }))
    expect(nothing.notice).toMatchObject([{ code: 'plan_window' }])
  })
})

describe('the work', () => {
  it.each(FILE_FORMATS)('of %s stops when the client goes away', async (format) => {
    let reads = 0
    const counted = new Proxy(store, {
      get(target, name, self) {
        if (name === 'books' || name === 'chunks') reads++
        const value: unknown = Reflect.get(target, name, self)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const other = createBulkCaller(counted)
    const gone = new AbortController()
    const { body } = await other.open(`${DAY}&format=${format}`, { signal: gone.signal })
    const before = reads
    gone.abort()
    for await (const piece of body) expect(piece.length).toBeGreaterThan(0)
    expect(reads - before).toBeLessThan(3)
    // A reader that stops reading ends it too.
    const second = await other.open(`${DAY}&format=${format}`)
    for await (const piece of second.body) {
      expect(piece.length).toBeGreaterThan(0)
      break
    }
    const atBreak = reads
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(reads).toBe(atBreak)
  })

  it.each(FILE_FORMATS)('of %s lets others run between its pieces', async (format) => {
    let turns = 0
    let isRunning = true
    const spin = (): void => {
      turns++
      if (isRunning) setImmediate(spin)
    }
    setImmediate(spin)
    let bytes = 0
    const { body } = await caller.open(`${SOME}&format=${format}`)
    for await (const piece of body) bytes += piece.length
    isRunning = false
    // One turn a step, and no step makes more than a piece.
    expect(turns).toBeGreaterThanOrEqual(Math.max(bytes / 300_000, 5000 / 1024))
  })
})

describe('damage on disk', () => {
  it('is a gap in every format, and everything else is served', async () => {
    const file = join(createTempFolder(), 'tape.db')
    const writer = openEmbeddedStore({ file })
    for (const batch of makeMarket(4096)) await writer.append(batch)
    await writer.seal()
    await writer.close()
    const database = new DatabaseSync(file)
    database.exec('UPDATE body SET bytes = zeroblob(length(bytes)) WHERE id = 2')
    database.close()
    const damaged = openEmbeddedStore({ file, readOnly: true })
    try {
      const other = createBulkCaller(damaged)
      const lines = (await other.bytes(DAY)).toString().trimEnd().split('\n')
      const items = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
      const at = items.findIndex(({ type }) => type === 'gap')
      expect(items[at]).toMatchObject({ reason: 'corrupt', after_sequence: 1024 })
      expect([items[at - 1]!['sequence'], items[at + 1]!['sequence']]).toEqual([1024, 2049])
      expect(items.at(-1)).toMatchObject({ rows: 3072, gaps: 1 })
      const frames = [...readContainer(await other.bytes(`${DAY}&format=tape`))]
      expect(frames.map(({ kind }) => kind).join(' ')).toBe(
        'header market chunk gap chunk chunk end',
      )
      const { data, meta } = await other.manifest(`${DAY}&formats=parquet`)
      expect(data).toMatchObject({ rows: 3072, gap_count: 1 })
      expect(meta.gaps).toMatchObject([{ reason: 'corrupt' }])
    } finally {
      await damaged.close()
    }
  })

  it('has every record of a market in a tape file, from the one known at the start on', async () => {
    const made = openEmbeddedStore({ file: join(createTempFolder(), 'tape.db') })
    try {
      for (const batch of makeMarket(2048)) await made.append(batch)
      const [state] = await made.revisions('venueb', 'KXMADE-1', { limit: 1 })
      const { record } = state!
      for (const [index, hours] of [1, 2, 3].entries()) {
        const closeTime = toMicros(MADE_START + hours * 3.6e9)
        const received = toMicros(MADE_START + (index + 1) * 1_000_000)
        const journal = 1_000_000 + index
        const maker = { origin: 'live', recorder: 'r1', normalizer: 1 } as const
        const revision = {
          kind: 'market',
          received,
          journal,
          record: { ...record, closeTime },
        } as const
        await made.append({ ...maker, venue: 'venueb', position: journal, revisions: [revision] })
      }
      const times = async (query: string): Promise<unknown[]> =>
        [...readContainer(await createBulkCaller(made).bytes(`${query}&format=tape`))]
          .filter(({ kind }) => kind === 'market')
          .map(({ payload }) => JSON.parse(Buffer.from(payload).toString()).close_time as unknown)
      const hour = (count: number): string => printMicros(toMicros(MADE_START + count * 3.6e9))
      expect(await times(DAY)).toEqual([null, hour(1), hour(2), hour(3)])
      const [head] = readContainer(await createBulkCaller(made).bytes(`${DAY}&format=tape`))
      expect(JSON.parse(Buffer.from(head!.payload).toString())).toMatchObject({ records: 'all' })
      const from = printMicros(toMicros(MADE_START + 2_500_000))
      const to = printMicros(toMicros(MADE_START + 60_000_000))
      const range = `venue=venueb&market_id=KXMADE-1&start_time=${from}&end_time=${to}`
      expect(await times(range)).toEqual([hour(2), hour(3)])
      const { data } = await createBulkCaller(made).manifest(`${DAY}&formats=tape`)
      expect(data).toMatchObject({ rows: 2048 })
    } finally {
      await made.close()
    }
  })
})
