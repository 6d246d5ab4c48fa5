import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import { parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { flagNames, type Gap } from '@priorbook/sdk/domain'
import { applyRow, applyRows, Ladder, loadBase, type BookRun } from '@priorbook/sdk/tape'
import { generateRecordings } from '../../../../bench/lib/generator.ts'
import {
  channelFolder,
  findRecordings,
  readLines,
  readObservations,
} from '../../../../bench/lib/recordings.ts'
import type { EmbeddedStore } from '../store/embedded/open.ts'
import { createTestFolder, type TestFolder, importRecorded } from './import.testing.ts'
import { compareWithJournal } from './rebuild.ts'

const recorded = process.env['PRIORBOOK_RECORDINGS']
const hasRecordings = recorded !== undefined && recorded !== ''
const isFull = process.env['PRIORBOOK_FULL'] === '1'
if (!hasRecordings) {
  console.warn('recorded markets are skipped: set PRIORBOOK_RECORDINGS to the folder of recordings')
}

describe('import of generated markets', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'priorbook-generated-'))
  const folder = createTestFolder()
  beforeAll(async () => {
    generateRecordings(scratch, 11, 0.02)
    await folder.importPaths(join(scratch, channelFolder))
  })
  afterAll(() => {
    folder.destroy()
    rmSync(scratch, { recursive: true, force: true })
  })
  describeExactImport(folder, scratch)
  describeImportAgain(folder, scratch)
})

describe.skipIf(!hasRecordings)('import of recorded markets', () => {
  const folder = createTestFolder()
  const recordings = recorded ?? ''
  beforeAll(async () => {
    const report = await importRecorded(folder, recordings)
    expect(report.problems).toEqual([])
    expect(report.foreign).toHaveLength(6)
  }, 120_000)
  afterAll(() => folder.destroy())

  // The naive fold takes seconds for 370,000 messages: the first of each market, or all in a full run.
  describeExactImport(folder, recordings, isFull ? Infinity : 15_000)
  // Of 370,000 messages these take many seconds; generated ones are enough for every run.
  if (isFull) describeImportAgain(folder, recordings)

  const densest = 'KXGOLD15M-26AUG102130-30'
  const gapsOf = (key: string): Promise<readonly Gap[]> =>
    folder.read((store) => store.gaps({ venue: 'venueb', key }))

  it('finds the two gaps of 102130-30 with exact bounds, and keeps the late rows', async () => {
    const gaps = await gapsOf(densest)
    const shown = gaps.map(({ reason, start, end }) => [reason, start / 1000, (end ?? 0) / 1000])
    expect(shown).toEqual([
      ['venue_silent', 1786410975904, 1786410985910],
      ['disconnected', 1786410985915, 1786410987242],
    ])
    const late = await folder.read(async (store) => {
      const start = gaps[0]!.end!
      const end = gaps[1]!.end! + 1
      const query = {
        venue: 'venueb',
        key: densest,
        order: 'asc',
        limit: 1000,
        start,
        end,
      } as const
      const { runs } = await store.books(query)
      return runs.flatMap(({ columns, from, to }) =>
        Array.from({ length: to - from }, (_, index) => flagNames(columns.flags[from + index]!)),
      )
    })
    expect(late).toEqual([
      ['late', 'after_gap'],
      ...Array.from({ length: 8 }, () => ['late']),
      ['full_book', 'restart', 'after_gap'],
    ])
  })

  it('joins the midnight split of 102000-00 and takes the quiet span of 102200-00 for no gap', async () => {
    expect(await gapsOf('KXGOLD15M-26AUG102000-00')).toEqual([])
    expect(await gapsOf('KXGOLD15M-26AUG102200-00')).toEqual([])
    const all = await folder.read((store) => store.gaps({}))
    expect(all.every(({ key }) => key === densest)).toBe(true)
  })

  it('agrees with the 100 ms grid of 102130-30 as its page counts', async () => {
    const grid = await readGrid(join(recordings, channelFolder, `${densest}.parquet`))
    const gaps = await gapsOf(densest)
    const counts = { equal: 0, inGap: 0, earlier: 0, other: 0 }
    await folder.read(async (store) => {
      for (const [time, wanted] of grid) {
        const at = time * 1000
        const { run, gap } = await store.asOf({ venue: 'venueb', key: densest, at })
        if (gap !== undefined) counts.inGap++
        else if (bookText(toLadder(run!)) === wanted) counts.equal++
        else if (await equalsEarlier(store, at, wanted)) counts.earlier++
        else counts.other++
      }
    })
    expect(gaps).toHaveLength(2)
    expect(grid.size).toBe(8845)
    expect(counts).toEqual({ equal: 8729, inGap: 113, earlier: 3, other: 0 })
  }, 120_000)

  it('knows each market by its catalogue answer, the socket’s own id kept', async () => {
    await folder.read(async (store) => {
      const market = await store.market('venueb', densest)
      expect(market?.record).toMatchObject({
        seriesTicker: 'KXGOLD15M',
        eventTicker: 'KXGOLD15M-26AUG102130',
        status: 'resolved',
        winningOutcome: 'Yes',
        native: { market_id: '31185e50-0db4-4c57-b95d-0123f5c07ec8' },
      })
      const { markets } = await store.markets({ series: 'KXGOLD15M', limit: 100 })
      expect(markets).toHaveLength(6)
      const before = await store.market('venueb', densest, 1786410915524000)
      expect(before?.record.status).toBeUndefined()
    })
  })

  // Several states share a millisecond: every row of the 7 ms before the tick is looked at.
  async function equalsEarlier(store: EmbeddedStore, at: number, wanted: string): Promise<boolean> {
    const range = { start: at - 7000, end: at, order: 'asc', limit: 1000 } as const
    const { runs } = await store.books({ venue: 'venueb', key: densest, ...range })
    return runs.some(({ columns, from, to, firstSequence }) =>
      Array.from({ length: to - from }, (_, index) => from + index).some((row) => {
        const run = { columns, firstSequence, from: row, to: row + 1 }
        return bookText(toLadder(run)) === wanted
      }),
    )
  }
})

/** What must hold for any recordings folder after its import. */
function describeExactImport(folder: TestFolder, recordings: string, most = Infinity): void {
  it('stores every observation exactly as a naive fold of the raw messages gives it', async () => {
    await folder.read(async (store) => {
      for (const ticker of findRecordings(recordings)) {
        const expected = readObservations(ticker)
        const ladder = new Ladder()
        let after = 0
        for (;;) {
          const query = {
            venue: 'venueb',
            key: ticker.ticker,
            order: 'asc',
            limit: 5000,
            after,
          } as const
          const { runs, hasMore } = await store.books(query)
          for (const run of runs) after = compareRun(run, ladder, expected)
          if (!hasMore || after >= most) break
        }
        expect(after).toBeGreaterThan(0)
        expect(after >= most || expected.next().done).toBe(true)
      }
    })
  }, 240_000)

  it('stores every trade', async () => {
    await folder.read(async (store) => {
      for (const ticker of findRecordings(recordings)) {
        const query = {
          venue: 'venueb',
          key: ticker.ticker,
          order: 'asc',
          limit: 1_000_000,
        } as const
        const { rows } = await store.trades(query)
        const raw = [...readLines(ticker)]
          .filter((line) => line.includes('"trade"'))
          .map((line) => JSON.parse(line) as RawTrade)
          .filter(({ event }) => event.type === 'trade')
        const stored = raw.map((_, index) => [
          rows.received[index],
          rows.source[index],
          rows.tradeId[index],
          rows.price[index],
          rows.size[index],
          rows.taker[index],
          rows.venueSeq[index],
        ])
        const wanted = raw.map(({ recv_ms: received, event: { msg, seq } }) => [
          received * 1000,
          msg.ts_ms * 1000,
          msg.trade_id,
          Math.round(Number(msg.yes_price_dollars) * 10_000),
          Math.round(Number(msg.count_fp) * 100),
          msg.taker_outcome_side === 'yes' ? 1 : 2,
          seq,
        ])
        expect(rows.count).toBe(raw.length)
        // As texts, because a matcher takes seconds for thousands of rows.
        expect(stored.map(String)).toEqual(wanted.map(String))
      }
    })
  }, 120_000)

  it('is sound', async () => {
    await folder.read(async (store) => {
      expect((await store.verify()).problems).toEqual([])
    })
  })
}

/** What must hold when the same messages are taken again. */
function describeImportAgain(folder: TestFolder, recordings: string): void {
  it('the journal gives the same rows and hashes again', async () => {
    await folder.read(async (store) => {
      const { differences, chunks } = await compareWithJournal(store, folder.data)
      expect(differences).toEqual([])
      expect(chunks).toBeGreaterThan(5)
    })
  }, 240_000)

  it('changes nothing when it is imported again', async () => {
    const before = readFileSync(folder.data.tape)
    const journal = statSync(join(folder.data.journal, 'venueb')).mtimeMs
    const report = await folder.importPaths(join(recordings, 'venueb'))
    expect(report.observations).toBe(0)
    expect(report.known.length).toBeGreaterThan(5)
    expect(existsSync(`${folder.data.tape}-wal`)).toBe(false)
    expect(readFileSync(folder.data.tape).equals(before)).toBe(true)
    expect(statSync(join(folder.data.journal, 'venueb')).mtimeMs).toBe(journal)
  }, 120_000)
}

type RawTrade = {
  readonly recv_ms: number
  readonly event: {
    readonly type: string
    readonly seq: number
    readonly msg: {
      readonly trade_id: string
      readonly yes_price_dollars: string
      readonly count_fp: string
      readonly taker_outcome_side: string
      readonly ts_ms: number
    }
  }
}

// Compares row by row with plain loops: 370,000 books with 46 levels each are too many for matchers.
function compareRun(
  run: BookRun,
  ladder: Ladder,
  expected: ReturnType<typeof readObservations>,
): number {
  const { columns, firstSequence, from, to } = run
  loadBase(ladder, columns)
  applyRows(ladder, columns, 0, from)
  for (let row = from; row < to; row++) {
    applyRow(ladder, columns, row)
    const { value } = expected.next()
    const where = `${value?.ticker}:${firstSequence + row}`
    if (value === undefined) throw new Error(`${where} was never sent`)
    const heads = [
      [firstSequence + row, value.sequence],
      [columns.received[row], value.receivedMicros],
      [columns.source[row], value.sourceMicros ?? -1],
      [columns.venueSeq[row], value.venueSeq],
      [columns.channel[row], value.venueSid],
      [columns.flags[row]! & 1, value.isSnapshot ? 1 : 0],
    ]
    for (const [own, wanted] of heads)
      if (own !== wanted) throw new Error(`${where}: ${own} ≠ ${wanted}`)
    const scale = 10_000 / ladder.one
    const bids = ladder.bids()
    const asks = ladder.asks()
    if (
      !same(bids.price, value.bidPrice, scale) ||
      !same(bids.size, value.bidSize, 1) ||
      !same(asks.price, value.askPrice, scale) ||
      !same(asks.size, value.askSize, 1)
    ) {
      throw new Error(`${where}: the book differs`)
    }
  }
  return firstSequence + to - 1
}

function same(own: readonly number[], wanted: readonly number[], scale: number): boolean {
  if (own.length !== wanted.length) return false
  for (let index = 0; index < own.length; index++) {
    if (own[index]! * scale !== wanted[index]) return false
  }
  return true
}

function toLadder(run: BookRun): Ladder {
  const ladder = new Ladder()
  loadBase(ladder, run.columns)
  applyRows(ladder, run.columns, 0, run.to)
  return ladder
}

// One text a book: yes and no levels in the grid's own units, in order of price.
function bookText(ladder: Ladder): string {
  const scale = 10_000 / ladder.one
  const lines = ladder.keys().map((key) => {
    const ticks = (key >> 1) * scale
    return (key & 1) === 0
      ? `yes ${ticks} ${ladder.sizeAt(key)}`
      : `no ${10_000 - ticks} ${ladder.sizeAt(key)}`
  })
  return lines.sort().join('\n')
}

async function readGrid(file: string): Promise<Map<number, string>> {
  const bytes = readFileSync(file)
  const rows = (await parquetReadObjects({
    file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
    compressors: { ZSTD: (input) => zstdDecompressSync(input) },
  })) as { ts_ms: bigint; side: string; price_1e4: number; size_1e2: bigint }[]
  const books = new Map<number, string[]>()
  for (const { ts_ms: time, side, price_1e4: price, size_1e2: size } of rows) {
    const lines = books.get(Number(time)) ?? []
    books.set(Number(time), lines)
    lines.push(`${side} ${price} ${size}`)
  }
  // Two ticks of the file stand in it twice.
  return new Map([...books].map(([time, lines]) => [time, [...new Set(lines)].sort().join('\n')]))
}
