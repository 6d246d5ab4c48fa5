import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { flagNames } from '@priorbook/sdk/domain'
import { applyRows, Ladder, loadBase } from '@priorbook/sdk/tape'
import { readJournal } from '@priorbook/sdk/journal'
import { openJournalWriter } from '../journal/index.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { reachedFact } from '../recorder/batch.ts'
import { catchUp } from '../recorder/catch-up.ts'
import { createTestFolder, type TestFolder } from './import.testing.ts'
import { createLines, START_MS } from './lines.testing.ts'
import { findRecordings } from './merge-recordings.ts'

const key = 'TEST-26AUG01-T1'
const ref = { venue: 'venueb', key } as const
const T = START_MS

let folder: TestFolder
let files: string
beforeEach(() => {
  folder = createTestFolder()
  files = mkdtempSync(join(tmpdir(), 'priorbook-lines-'))
})
afterEach(() => {
  folder.destroy()
  rmSync(files, { recursive: true, force: true })
})

function write(name: string, bytes: string | Uint8Array): string {
  const path = join(files, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, bytes)
  return path
}

function goodLines(): ReturnType<typeof createLines> {
  const lines = createLines()
  lines.snapshot(T, 10, [['0.4000', '5.00']], [['0.5000', '7.00']])
  lines.delta(T + 100, 11, 'yes', '0.4100', '2.00')
  lines.trade(T + 150, 3, 'trade-1')
  lines.delta(T + 200, 13, 'no', '0.5000', '-7.00')
  return lines
}

async function rows(): Promise<{ book: string; flags: string[]; received: number }[]> {
  return folder.read(async (store) => {
    const { runs } = await store.books({ ...ref, order: 'asc', limit: 1000 })
    return runs.flatMap(({ columns, from, to }) =>
      Array.from({ length: to - from }, (_, index) => {
        const row = from + index
        const ladder = new Ladder()
        loadBase(ladder, columns)
        applyRows(ladder, columns, 0, row + 1)
        const book = ladder
          .keys()
          .map(
            (at) =>
              `${(at & 1) === 0 ? 'b' : 'a'}${(at >> 1) / ladder.one}×${ladder.sizeAt(at) / 100}`,
          )
          .join(' ')
        return {
          book,
          flags: flagNames(columns.flags[row]!),
          received: columns.received[row]! - T * 1000,
        }
      }),
    )
  })
}

describe('files', () => {
  it.each([
    ['plain.ndjson', (text: string) => text],
    ['packed.jsonl.gz', (text: string) => gzipSync(text)],
    ['packed.ndjson.zst', (text: string) => zstdCompressSync(text)],
    [
      'two-frames.ndjson.zst',
      (text: string) => {
        const cut = text.indexOf('\n') + 20
        const frames = [text.slice(0, cut), text.slice(cut)].map((part) => zstdCompressSync(part))
        return Buffer.concat(frames)
      },
    ],
    [
      'two-members.ndjson.gz',
      (text: string) => Buffer.concat([gzipSync(text.slice(0, 99)), gzipSync(text.slice(99))]),
    ],
  ])('reads %s', async (name, pack) => {
    const report = await folder.importPaths(write(name, pack(goodLines().text())))
    expect(report).toMatchObject({ lines: 4, observations: 3, trades: 1, problems: [] })
    expect((await rows()).map(({ book }) => book)).toEqual([
      'b0.4×5 a0.5×7',
      'b0.41×2 b0.4×5 a0.5×7',
      'b0.41×2 b0.4×5',
    ])
  })

  it('takes folders, names what it skips, and says which path does not exist', () => {
    write('a/one.ndjson', '')
    write('a/notes.txt', 'x')
    write('a/table.parquet', 'x')
    const { files: found, skipped } = findRecordings([files])
    expect(found.map(({ path }) => path)).toEqual([join(files, 'a/one.ndjson')])
    expect(skipped.map(({ path }) => path)).toEqual([
      join(files, 'a/notes.txt'),
      join(files, 'a/table.parquet'),
    ])
    expect(() => findRecordings([join(files, 'nowhere')])).toThrow('does not exist')
  })

  it('gives what a truncated file holds, says so, and takes it whole later', async () => {
    // Random ids, so that the packed file is long enough to be cut inside.
    const lines = goodLines()
    for (let index = 0; index < 2000; index++) {
      lines.trade(T + 300 + index, 4 + index, crypto.randomUUID())
    }
    const packed = gzipSync(lines.text())
    const path = write('cut.ndjson.gz', packed.subarray(0, packed.length >> 1))
    const first = await folder.importPaths(path)
    expect(first.problems.map(({ code }) => code)).toContain('truncated_file')
    expect(first.observations).toBe(3)
    expect(first.trades).toBeGreaterThan(100)
    const second = await folder.importPaths(write('cut.ndjson.gz', packed))
    expect(second.problems).toEqual([])
    expect(first.trades + second.trades).toBe(2001)
    await folder.read(async (store) => expect((await store.verify()).problems).toEqual([]))
  })

  it('reports a broken line with file and number, keeps it, and goes on', async () => {
    const lines = goodLines()
    lines.raw('{"recv_ms":1786000000300,"event":{"type":"orderbook_del')
    const path = write('broken.ndjson', lines.text().trimEnd())
    const report = await folder.importPaths(path)
    expect(report.observations).toBe(3)
    expect(report.problems).toHaveLength(1)
    expect(report.problems[0]).toMatchObject({ code: 'invalid_line', where: `${path}:5` })
    const [kept] = await folder.read((store) => store.quarantine({ limit: 10 }))
    expect(Buffer.from(kept!.raw).toString()).toBe(lines.lines.at(-1))
    expect(kept!.detail).toContain('broken.ndjson:5')
    // The line may have changed the book, so the book is closed until the next full one.
    const gaps = await folder.read((store) => store.gaps({}))
    expect(gaps).toMatchObject([{ reason: 'rejected', start: (T + 200) * 1000 }])
    expect(gaps[0]!.end).toBeUndefined()
  })

  it('imports the same lines once: same file, overlapping file, grown file', async () => {
    const lines = goodLines()
    const path = write('day.ndjson', lines.text())
    await folder.importPaths(path)
    expect((await folder.importPaths(path)).known).toEqual([path])
    lines.delta(T + 300, 14, 'yes', '0.4200', '1.00')
    const grown = await folder.importPaths(write('day.ndjson', lines.text()))
    expect(grown).toMatchObject({ observations: 1, skippedLines: 4, problems: [] })
    const copy = await folder.importPaths(write('copy.ndjson', `${lines.text()}\n`))
    expect(copy).toMatchObject({ observations: 0, trades: 0, skippedLines: 5 })
    expect(await rows()).toHaveLength(4)
  })

  it('refuses lines that are older than what is stored, one by one', async () => {
    await folder.importPaths(write('new.ndjson', goodLines().text()))
    const old = createLines()
    old.delta(T - 50, 9, 'yes', '0.4000', '1.00')
    const report = await folder.importPaths(write('old.ndjson', old.text()))
    expect(report.problems).toMatchObject([{ code: 'late_data' }])
    expect(await rows()).toHaveLength(3)
  })

  it('orders files by received time and joins day files by a continuing number', async () => {
    const first = goodLines()
    const second = createLines()
    second.delta(T + 300, 14, 'yes', '0.4000', '-5.00')
    await folder.importPaths(write('b.ndjson', second.text()), write('z.ndjson', first.text()))
    expect((await rows()).at(-1)?.book).toBe('b0.41×2')
    expect(await folder.read((store) => store.gaps({}))).toEqual([])
  })

  it('joins day files over two imports just the same', async () => {
    await folder.importPaths(write('a.ndjson', goodLines().text()))
    const second = createLines()
    second.delta(T + 300, 14, 'yes', '0.4000', '-5.00')
    await folder.importPaths(write('b.ndjson', second.text()))
    expect((await rows()).at(-1)?.book).toBe('b0.41×2')
    expect(await folder.read((store) => store.gaps({}))).toEqual([])
  })
})

describe('gaps', () => {
  const shown = (): Promise<unknown[]> =>
    folder.read(async (store) =>
      (await store.gaps({})).map(({ reason, start, end, afterSequence }) => ({
        reason,
        from: start / 1000 - T,
        to: end === undefined ? undefined : end / 1000 - T,
        afterSequence,
      })),
    )

  it('never applies changes before the first full book', async () => {
    const lines = createLines()
    lines.delta(T, 5, 'yes', '0.4000', '5.00')
    lines.delta(T + 10, 6, 'yes', '0.4000', '5.00')
    lines.snapshot(T + 500, 7, [['0.3000', '1.00']], [])
    await folder.importPaths(write('a.ndjson', lines.text()))
    expect(await rows()).toMatchObject([
      { book: 'b0.3×1', flags: ['full_book', 'restart', 'after_gap'] },
    ])
    expect(await shown()).toEqual([{ reason: 'book_reset', from: 0, to: 500, afterSequence: 0 }])
  })

  it('closes the book when the numbers start over, until the next full book', async () => {
    const lines = goodLines()
    lines.delta(T + 300, 2, 'yes', '0.4000', '1.00')
    lines.snapshot(T + 400, 3, [['0.3000', '1.00']], [])
    lines.delta(T + 500, 4, 'yes', '0.3000', '1.00')
    await folder.importPaths(write('a.ndjson', lines.text()))
    expect(await shown()).toEqual([
      { reason: 'disconnected', from: 200, to: 400, afterSequence: 3 },
    ])
    expect((await rows()).at(-1)?.book).toBe('b0.3×2')
  })

  it('leaves a gap open at the end, and closes it in the next import', async () => {
    const lines = goodLines()
    lines.delta(T + 300, 2, 'yes', '0.4000', '1.00')
    await folder.importPaths(write('a.ndjson', lines.text()))
    expect(await shown()).toMatchObject([{ reason: 'disconnected', from: 200, to: undefined }])
    await folder.read(async (store) => {
      const { run, gap } = await store.asOf({ ...ref, at: (T + 900) * 1000 })
      expect(run).toBeUndefined()
      expect(gap?.reason).toBe('disconnected')
    })
    const later = createLines()
    later.snapshot(T + 1000, 5, [['0.2000', '1.00']], [])
    await folder.importPaths(write('b.ndjson', later.text()))
    expect(await shown()).toMatchObject([{ reason: 'disconnected', from: 200, to: 1000 }])
  })

  it('tells silence from quiet by the venue’s numbers', async () => {
    const lines = goodLines()
    lines.delta(T + 10_200, 14, 'yes', '0.4000', '1.00')
    lines.delta(T + 25_200, 3014, 'yes', '0.4000', '1.00')
    await folder.importPaths(write('a.ndjson', lines.text()))
    expect(await shown()).toEqual([
      { reason: 'venue_silent', from: 200, to: 10_200, afterSequence: 3 },
    ])
    expect((await rows()).map(({ flags }) => flags)).toEqual([
      ['full_book', 'restart'],
      [],
      [],
      ['after_gap'],
      [],
    ])
  })

  it('passes over a message that repeats the number before it', async () => {
    const lines = goodLines()
    lines.raw(lines.lines.at(-1)!)
    const report = await folder.importPaths(write('a.ndjson', lines.text()))
    expect(report.duplicates).toBe(1)
    expect(await rows()).toHaveLength(3)
  })

  it('keeps received time from going back and says so', async () => {
    const lines = goodLines()
    lines.delta(T + 150, 14, 'yes', '0.4000', '1.00')
    await folder.importPaths(write('a.ndjson', lines.text()))
    expect((await rows()).at(-1)).toMatchObject({ received: 200_001, flags: ['clock_step'] })
  })
})

describe('bad messages', () => {
  const bad: [name: string, code: string, add: (lines: ReturnType<typeof createLines>) => void][] =
    [
      [
        'a price that is no decimal',
        'invalid_decimal',
        (l) => l.delta(T + 300, 14, 'yes', 'abc', '1.00'),
      ],
      ['a size of 1e308', 'unrepresentable', (l) => l.delta(T + 300, 14, 'yes', '0.4000', '1e308')],
      [
        'a negative resting size',
        'bad_size',
        (l) => l.delta(T + 300, 14, 'yes', '0.4000', '-9.00'),
      ],
      ['a price of 1', 'price_out_of_bounds', (l) => l.delta(T + 300, 14, 'yes', '1.0000', '1.00')],
      ['a price of 0', 'price_out_of_bounds', (l) => l.delta(T + 300, 14, 'no', '0.0000', '1.00')],
      [
        'a number beyond the tape',
        'unrepresentable',
        (l) => l.delta(T + 300, 2 ** 53 - 1, 'yes', '0.4000', '1.00'),
      ],
      ['a crossed book', 'crossed_book', (l) => l.delta(T + 300, 14, 'no', '0.9000', '1.00')],
      [
        'a price twice',
        'duplicate_price',
        (l) =>
          l.snapshot(
            T + 300,
            14,
            [
              ['0.4000', '1.00'],
              ['0.4000', '2.00'],
            ],
            [],
          ),
      ],
      [
        'an unknown event',
        'unknown_event',
        (l) =>
          l.raw(`{"recv_ms":${T + 300},"event":{"type":"nonsense","sid":1,"seq":14,"msg":{}}}`),
      ],
      [
        'a ticker that is none',
        'invalid_id',
        (l) =>
          l.raw(
            `{"recv_ms":${T + 300},"event":{"type":"orderbook_snapshot","sid":1,"seq":14,"msg":{"market_ticker":"a b"}}}`,
          ),
      ],
    ]

  it.each(bad)('quarantines %s as %s and goes on', async (_, code, add) => {
    const lines = goodLines()
    add(lines)
    lines.snapshot(T + 400, 15, [['0.2000', '1.00']], [['0.3000', '1.00']])
    const path = write('a.ndjson', lines.text())
    const report = await folder.importPaths(path)
    expect(report.problems).toMatchObject([{ code, where: `${path}:5` }])
    const kept = await folder.read((store) => store.quarantine({ limit: 10 }))
    expect(kept.map(({ raw }) => Buffer.from(raw).toString())).toEqual([lines.lines[4]])
    const all = await rows()
    expect(all.slice(0, 3)).toHaveLength(3)
    expect(all.at(-1)?.book).toBe('b0.2×1 a0.7×1')
    // Whatever could not be read may have been a change of the book, as in live recording; only a
    // message of another kind cannot.
    const gaps = await folder.read((store) => store.gaps({}))
    expect(gaps.map(({ reason }) => reason)).toEqual(code === 'unknown_event' ? [] : ['rejected'])
    await folder.read(async (store) => expect((await store.verify()).problems).toEqual([]))
  })
})

describe('the journal', () => {
  it('is applied where the store lags behind it, after a crash between the two', async () => {
    const lines = goodLines().lines
    const writer = openJournalWriter({
      dir: folder.data.journal,
      venue: 'venueb',
      origin: 'import',
      recorder: 'import',
    })
    for (const line of lines) {
      const received = (JSON.parse(line) as { recv_ms: number }).recv_ms * 1000
      writer.append(received as never, 'message', Buffer.from(line))
    }
    writer.commit()
    writer.close()
    const report = await folder.importPaths()
    expect(report.lines).toBe(0)
    expect(await rows()).toHaveLength(3)
  })

  it('has no time before its lines, and the import leaves alone how far live capture is stored', async () => {
    const reached = (T + 86_400_000) * 1000
    const live = { origin: 'live', recorder: 'r', normalizer: 1 } as const
    const store = openEmbeddedStore({ file: folder.data.tape })
    await store.append({
      venue: 'venueb',
      position: 1,
      ...live,
      facts: { [reachedFact('venueb')]: reached },
    })
    await store.close()
    await folder.importPaths(write('a.ndjson', `${goodLines().text()}broken\n`))
    const blocks = [...readJournal({ dir: folder.data.journal, venue: 'venueb' })]
    const times = blocks.flatMap((block) => (block.kind === 'block' ? [...block.received] : []))
    expect(Math.min(...times)).toBeGreaterThanOrEqual(T * 1000)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(await folder.read((own) => own.fact(reachedFact('venueb')))).toBe(reached)
  })

  it('gives the same rows however it is cut into batches', async () => {
    const lines = goodLines()
    lines.delta(T + 300, 2, 'yes', '0.4000', '1.00')
    lines.snapshot(T + 400, 3, [['0.3000', '1.00']], [])
    lines.delta(T + 9000, 4, 'yes', '0.3000', '1.00')
    await folder.importPaths(write('a.ndjson', lines.text()))
    const whole = await rows()
    const other = createTestFolder()
    const store = openEmbeddedStore({ file: other.data.tape })
    try {
      // One record at a time, with a new applier each: everything it knows comes from the store.
      const last = [...readJournal({ dir: folder.data.journal, venue: 'venueb' })]
        .filter((item) => item.kind === 'block')
        .reduce((sum, block) => sum + block.count, 0)
      for (let to = 1; to <= last; to++)
        await catchUp(store, folder.data.journal, 'venueb', undefined, to)
      await store.seal()
      const again = await store.books({ ...ref, order: 'asc', limit: 100 })
      expect(again.count).toBe(whole.length)
      const gaps = await folder.read((own) => own.gaps({}))
      expect(await store.gaps({})).toEqual(gaps)
    } finally {
      await store.close()
      other.destroy()
    }
  })
})
