import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readArrow, readParquet } from '../../packages/service/src/api/bulk/read-back.testing.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'
import { toDataFolder, type DataFolder } from '../../packages/service/src/lib/data-folder.ts'
import { pause, start } from '../capture/harness.ts'
import { expectPanel, type Cells, type Line, type Listed } from './panel-oracle.ts'
import { servePrices } from './reference-prices.ts'

// A minute of the venues is a second here: rounds of 5 and 15 minutes last 5 and 15 seconds.
const SPEED = 60
const OFFSETS = '-6s,-4s,-3s,-2s,-1s,0s'
const FAMILIES = ['btc-5m', 'eth-5m', 'btc-15m'] as const
const STYLE = 'number_format=string&time_format=epoch_us'

type Served = Awaited<ReturnType<typeof servePrices>>

let folder: string
let data: DataFolder
// When the recorder was stopped: rounds that close later are not asked for.
let stopped: number

beforeAll(async () => {
  const run = await start({ seed: 20, speed: SPEED })
  await pause(9000)
  // Every socket is cut and refused for a while, in which rounds close.
  for (const venue of EMULATED_VENUES) {
    for (const kind of ['disconnect', 'refuse'] as const) {
      run.emulator.inject({ fault: { kind }, target: { venue }, forMs: 4000 })
    }
  }
  await pause(22_000)
  stopped = await run.stop()
  await run.store.close()
  folder = mkdtempSync(join(tmpdir(), 'priorbook-panels-'))
  data = toDataFolder(join(folder, 'data'))
  cpSync(run.data.path, data.path, { recursive: true })
  await run.destroy()
}, 120_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const text = async (served: Served, path: string): Promise<string> => {
  const answer = await served.get(path)
  expect([path, answer.status]).toEqual([path, 200])
  return answer.text()
}

const linesOf = async (served: Served, path: string): Promise<readonly Line[]> =>
  (await text(served, path))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)

const queryOf = (family: string): string => {
  const [asset, window] = family.split('-')
  return `asset=${asset}&window=${window}`
}

async function pagesOf<Row>(served: Served, path: string): Promise<Row[]> {
  const rows: Row[] = []
  for (let cursor = ''; ;) {
    const { data, pagination } = JSON.parse(await text(served, `${path}${cursor}`)) as {
      readonly data: readonly Row[]
      readonly pagination: { readonly next_cursor: string | null }
    }
    rows.push(...data)
    if (pagination.next_cursor === null) return rows
    cursor = `&cursor=${pagination.next_cursor}`
  }
}

describe('settlement panels of recorded rounds', () => {
  it('have the cells that the downloads of books and feeds give', async () => {
    const served = await servePrices(data)
    const since = `start_time=${Math.floor(Date.now() - 600_000)}&end_time=${Date.now()}`
    const counts = { rows: 0, books: 0, gaps: new Set<string>(), prices: 0, winners: 0 }
    for (const family of FAMILIES) {
      const query = queryOf(family)
      const markets = await pagesOf<Listed>(served, `/v3/markets?${query}&${STYLE}&limit=100`)
      const byId = new Map(markets.map((one) => [`${one.venue} ${one.market_id}`, one]))
      const rows = await pagesOf<Cells>(
        served,
        `/v3/panels?${query}&at=${OFFSETS}&to=${stopped}&${STYLE}&limit=50`,
      )
      const name = family.endsWith('15m') ? 'twap60' : 'twap30'
      const asset = family.split('-')[0]!
      const feed = {
        name,
        lines: await linesOf(
          served,
          `/v3/bulk?venue=venuec&dataset=reference&asset=${asset}&feed=${name}&${since}&${STYLE}`,
        ),
      }
      const books = new Map<string, readonly Line[]>()
      for (const row of rows) {
        const id = `${row['venue']} ${row['market_id']}`
        const scope = `venue=${row['venue']}&market_id=${row['market_id']}`
        const lines =
          books.get(id) ?? (await linesOf(served, `/v3/bulk?${scope}&${since}&${STYLE}`))
        books.set(id, lines)
        const { gap, reference_gap: referenceGap, ...cells } = row
        const own = row['venue'] === 'venuec' ? feed : undefined
        const wanted = expectPanel(byId.get(id)!, Number(row['offset_s']), lines, own)
        expect(cells).toEqual(wanted.cells)
        // Of several gaps at one instant any reason is right; without one there is none.
        expect([null, ...wanted.gaps]).toContain(gap)
        expect(gap === null).toBe(wanted.gaps.length === 0)
        expect([null, ...wanted.referenceGaps]).toContain(referenceGap)
        expect(referenceGap === null).toBe(wanted.referenceGaps.length === 0)
        counts.rows++
        if (row['book_id'] !== null) counts.books++
        if (gap !== null) counts.gaps.add(String(gap))
        if (row['reference_price'] !== null) counts.prices++
        if (row['winning_outcome'] !== null) counts.winners++
      }
      // Some rounds of venue C were announced, and closed before their whole record was read.
      const closed = markets.filter(({ close_time: close }) => close !== null && close < stopped)
      expect(rows).toHaveLength(closed.length * OFFSETS.split(',').length)
    }
    expect(counts.rows).toBeGreaterThanOrEqual(100)
    expect(counts.books).toBeGreaterThan(40)
    expect(counts.prices).toBeGreaterThan(20)
    expect(counts.winners).toBeGreaterThan(20)
    expect([...counts.gaps]).toEqual(expect.arrayContaining(['disconnected']))
  })

  it('are the same rows in every format, page by page and by the client', async () => {
    const served = await servePrices(data)
    const to = stopped
    for (const family of FAMILIES) {
      const asked = `${queryOf(family)}&at=${OFFSETS}&to=${to}`
      const rows = await pagesOf<Cells>(served, `/v3/panels?${asked}&${STYLE}&limit=7`)
      expect(rows.length).toBeGreaterThan(5)
      const whole = `/v3/panels?${asked}&limit=1000&${STYLE}`
      const lines = await linesOf(served, `${whole}&format=ndjson`)
      expect(lines.at(-1)).toEqual({ type: 'receipt', rows: rows.length, gaps: 0 })
      expect(lines.slice(0, -1)).toEqual(rows.map((row) => ({ type: 'panel', ...row })))
      const csv = (await text(served, `${whole}&format=csv`)).trim().split('\n')
      expect(csv[0]!.split(',')).toEqual(Object.keys(rows[0]!))
      // No cell has a comma or a quote.
      expect(csv.slice(1)).toEqual(
        rows.map((row) =>
          Object.values(row)
            .map((cell) => cell ?? '')
            .join(','),
        ),
      )
      const asFile = rows.map(({ age_ms: age, reference_age_ms: other, ...row }) => ({
        ...row,
        age_ms: age === null ? null : String(age),
        reference_age_ms: other === null ? null : String(other),
      }))
      const file = async (format: string): Promise<Uint8Array> =>
        new Uint8Array(
          await (await served.get(`/v3/panels?${asked}&format=${format}`)).arrayBuffer(),
        )
      expect(readArrow(await file('arrow')).rows).toEqual(asFile)
      expect((await readParquet(await file('parquet'))).rows).toEqual(asFile)
      const [asset, window] = family.split('-')
      const style = { number_format: 'string', time_format: 'epoch_us' } as const
      const walk = served.client.panels({
        asset: asset!,
        window: window!,
        at: OFFSETS,
        to,
        ...style,
      })
      expect(await walk.toArray()).toEqual(rows)
    }
  })

  it('agree with the book at the same instant', async () => {
    const { client } = await servePrices(data)
    const rows = await client
      .panels({ asset: 'btc', window: '5m', at: '-3s,-1s', to: stopped, number_format: 'string' })
      .toArray()
    for (const row of rows) {
      const { data } = await client.market(row).asOf({ at: row.at, number_format: 'string' })
      const book = data.find(({ outcome }) => outcome === row.outcome)
      expect([row.book_id, row.best_bid, row.best_ask, row.mid]).toEqual([
        book?.id ?? null,
        book?.best_bid ?? null,
        book?.best_ask ?? null,
        book?.mid ?? null,
      ])
    }
    expect(rows.length).toBeGreaterThan(10)
  })

  it('are printed and written by the command line', async () => {
    const { cli, client } = await servePrices(data)
    const table = await cli('panels', 'BTC-5m', '--at', '-2s,0s', '--venue', 'venuec')
    expect(table).toMatch(
      /^MARKET +CLOSED \(UTC\) +AT +BID +ASK +MID +AGE +STRIKE +REFERENCE +WINNER/,
    )
    expect(table).toMatch(/venuec:0x\w+ .* -2s /)
    expect(table).not.toContain('venuea:')
    // Rounds that were announced close while this runs.
    const params = { asset: 'btc', window: '5m', at: '-1s', to: stopped } as const
    const rows = await client.panels({ ...params, number_format: 'string' }).toArray()
    const same = ['--at', '-1s', '--to', String(stopped)]
    const printed = await cli('panels', 'btc-5m', ...same, '--order', 'asc', '--json')
    expect(
      printed
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(rows)
    const file = join(folder, 'panel.parquet')
    await cli('panels', 'BTC-5m', ...same, '--out', file)
    const written = (await readParquet(readFileSync(file))).rows
    expect(written.map(({ book_id: id }) => id)).toEqual(rows.map(({ book_id: id }) => id))
    for (const args of [['panels'], ['panels', 'BTC'], ['panels', 'BTC-5m', '--format', 'arrow']]) {
      expect(await cli(...args)).toBe('')
    }
  })
})
