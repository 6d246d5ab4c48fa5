import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MarketRecord } from '@priorbook/sdk/domain'
import { assembleChunk, openChunk } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { fromMarketJson, parseExactJson, toMarketJson } from '@priorbook/sdk/wire'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ContainerWriter, readContainer } from '../../api/bulk/tape-container.ts'
import { openEmbeddedStore } from '../embedded/open.ts'
import { expectLines } from '../store-answers.testing.ts'
import { lineOf, ModelStore } from '../store-model.testing.ts'
import type { OpenedStore } from '../store-opened.testing.ts'
import { describeReadContract } from '../store-read.contract.ts'
import { rowsOf } from '../store-rows.testing.ts'
import { BEGIN, INSTRUMENTS, Script } from '../store-script.testing.ts'
import type { Store } from '../store.ts'
import { exportScripted } from './export.testing.ts'
import { indexFolder } from './index-folder.ts'
import { openFilesStore } from './open.ts'
import { cutPiece } from './pieces.ts'

const platform = createNodePlatform()
const DAY = 86_400_000_000
const EVERYTHING = [{ start: 0, end: Number.MAX_SAFE_INTEGER }]

const createFolder = (): string => mkdtempSync(join(tmpdir(), 'priorbook-files-'))

async function fill(): Promise<OpenedStore> {
  const folder = createFolder()
  // So small that chunks, parts and an unsealed tail are exported side by side.
  const store = openEmbeddedStore({ file: join(folder, 'tape.db'), limits: { rows: 60, step: 24 } })
  return {
    store,
    destroy: async () => {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  } as Partial<OpenedStore> as OpenedStore
}

/** What a record is after it was written into a file and read again. */
function keep(record: MarketRecord): MarketRecord {
  const text = JSON.stringify(toMarketJson({ record, knownAt: 0 }))
  return fromMarketJson(parseExactJson(text)).record
}

/** A chunk whose checksum holds and whose columns are not what they are said to be compressed with. */
function spoil(bytes: Uint8Array): Uint8Array {
  const { headerBytes } = openChunk(bytes, platform)
  const garbage = { ...platform, compress: () => new Uint8Array(40).fill(7) }
  return assembleChunk(headerBytes, [new Uint8Array(400)], garbage)
}

async function openFolder(folder: string): Promise<Store> {
  const index = join(folder, '.index', 'index.db')
  await indexFolder(folder, index)
  return openFilesStore({ folder, index })
}

const hostIn =
  (spans: (filled: Store) => Promise<readonly { start: number; end: number }[]>) =>
  async (filled: Store): Promise<{ store: Store; destroy(): Promise<void> }> => {
    const folder = createFolder()
    await exportScripted(filled, folder, await spans(filled))
    const store = await openFolder(folder)
    return {
      store,
      destroy: async () => {
        await store.close()
        rmSync(folder, { recursive: true, force: true })
      },
    }
  }

describe('the read contract', () => {
  describeReadContract(
    {
      files: hostIn(async () => EVERYTHING),
      // Files of spans that follow each other, and one that overlaps them all in the middle.
      'files of several spans': hostIn(async (filled) => {
        const facts = await filled.instruments()
        const last = Math.max(...facts.map(({ lastReceived }) => lastReceived))
        const middle = Math.floor((BEGIN + last) / 2)
        return [
          { start: 0, end: middle },
          { start: middle, end: last - DAY },
          { start: last - DAY, end: Number.MAX_SAFE_INTEGER },
          { start: middle - 2 * DAY, end: middle + 2 * DAY },
        ]
      }),
    },
    fill,
    keep,
  )
})

describe('a folder of files', () => {
  let original: OpenedStore
  let folder: string
  const script = new Script(77)
  const model = new ModelStore(script.books)

  beforeAll(async () => {
    original = await fill()
    for (const batch of script.take(150)) {
      await original.store.append(batch)
      model.apply(batch)
    }
    folder = createFolder()
    await exportScripted(original.store, folder, EVERYTHING)
  })
  afterAll(async () => {
    await original.destroy()
    rmSync(folder, { recursive: true, force: true })
  })

  const copy = (): string => {
    const other = createFolder()
    cpSync(folder, other, { recursive: true })
    return other
  }

  test('files that are cut, changed or of another kind are refused by name, the rest is served', async () => {
    const own = copy()
    const [books, trades] = [join(own, '0_venueb_books.pbx'), join(own, '0_venuec_trades.pbx')]
    truncateSync(books, readFileSync(books).length - 3)
    const bytes = readFileSync(trades)
    bytes[bytes.length >> 1]! ^= 1
    writeFileSync(trades, bytes)
    writeFileSync(join(own, 'notes.pdf'), 'not ours')
    writeFileSync(join(own, 'a.ndjson'), '{"type":"book"}\n')
    writeFileSync(join(own, 'manifest.json'), '{}')
    const index = join(own, '.index', 'index.db')
    const report = await indexFolder(own, index)
    expect(report.refused.map(({ file, code }) => [file, code])).toEqual([
      ['0_venueb_books.pbx', 'truncated_file'],
      ['0_venuec_trades.pbx', 'corrupt_chunk'],
      ['a.ndjson', 'unsupported_format'],
      ['notes.pdf', 'unsupported_format'],
    ])
    expect(report.files).toBe(readdirSync(own).length - 6)
    const store = openFilesStore({ folder: own, index })
    const served = new Set((await store.instruments()).map(({ instrument }) => instrument.venue))
    expect([...served].sort()).toEqual(['venuea', 'venuec'])
    for (const ref of INSTRUMENTS.filter(({ venue }) => venue !== 'venueb')) {
      const page = await store.books({ ...ref, order: 'asc', limit: 100_000 })
      expectLines(rowsOf(page.runs).map(lineOf), model.rows(ref).map(lineOf))
    }
    await store.close()
    rmSync(own, { recursive: true, force: true })
  })

  test('a file whose rows cannot be read although its checksums hold is refused by name', async () => {
    const own = copy()
    const books = join(own, '0_venueb_books.pbx')
    const frames = [...readContainer(readFileSync(books))]
    const [chunk] = frames
      .filter(({ kind }) => kind === 'part')
      .map(({ payload }) => openChunk(payload, platform))
      .filter(({ header }) => header.count > 2)
    const { venue, key, count, first } = chunk!.header
    const early = cutPiece(chunk!, 0, 2, undefined, platform)
    // The second row is in both files, so that this one has to be cut.
    const late = openChunk(cutPiece(chunk!, 1, count, undefined, platform), platform)
    const broken = late.sections.map(() => new Uint8Array([255]))
    const write = (name: string, part: Uint8Array): void => {
      const container = new ContainerWriter()
      const kept = frames.filter(({ kind }) => kind === 'header' || kind === 'market')
      const parts = container.begin(JSON.parse(Buffer.from(kept.shift()!.payload).toString()))
      for (const { kind, payload } of kept)
        parts.push(...container.frame(kind as 'market', payload))
      parts.push(...container.frame('part', part), ...container.end({}))
      writeFileSync(join(own, name), Buffer.concat(parts))
    }
    write('early.pbx', early)
    write('late.pbx', assembleChunk(late.headerBytes, broken, platform))
    rmSync(books)
    const index = join(own, '.index', 'index.db')
    const report = await indexFolder(own, index)
    expect(report.refused.map(({ file, code }) => [file, code])).toEqual([
      ['late.pbx', 'corrupt_chunk'],
    ])
    const store = openFilesStore({ folder: own, index })
    const { runs } = await store.books({ venue, key, order: 'asc', limit: 1000 })
    expect(rowsOf(runs).map(({ sequence }) => sequence)).toEqual([first, first + 1])
    await store.close()
    rmSync(own, { recursive: true, force: true })
  })

  test('a file whose sealed rows cannot be decompressed is refused by name', async () => {
    const own = copy()
    await original.store.seal()
    const sealed = createFolder()
    await exportScripted(original.store, sealed, EVERYTHING)
    const container = new ContainerWriter()
    const parts: Uint8Array[] = []
    for (const { kind, payload } of readContainer(
      readFileSync(join(sealed, '0_venueb_books.pbx')),
    )) {
      if (kind === 'header')
        parts.push(...container.begin(JSON.parse(String(Buffer.from(payload)))))
      else if (kind === 'end') parts.push(...container.end({}))
      else parts.push(...container.frame(kind, kind === 'chunk' ? spoil(payload) : payload))
    }
    writeFileSync(join(own, '0_venueb_books.pbx'), Buffer.concat(parts))
    rmSync(sealed, { recursive: true, force: true })
    const report = await indexFolder(own, join(own, '.index', 'index.db'))
    expect(report.refused.map(({ file, code }) => [file, code])).toEqual([
      ['0_venueb_books.pbx', 'corrupt_chunk'],
    ])
    rmSync(own, { recursive: true, force: true })
  })

  test('an index is used again while the files are the same, and made again when they are not', async () => {
    const own = copy()
    const index = join(own, '.index', 'index.db')
    const before = await indexFolder(own, index)
    const first = readFileSync(index)
    expect(await indexFolder(own, index)).toEqual(before)
    expect(readFileSync(index).equals(first)).toBe(true)
    rmSync(join(own, '0_venueb_books.pbx'))
    const after = await indexFolder(own, index)
    expect(after.files).toBe(before.files - 1)
    writeFileSync(index, 'not an index')
    expect(await indexFolder(own, index)).toEqual(after)
    rmSync(own, { recursive: true, force: true })
    await expect(indexFolder(own, index)).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  test('a file that changes while it is served gives gaps, never other rows', async () => {
    const own = copy()
    const store = await openFolder(own)
    const path = join(own, '0_venueb_books.pbx')
    const bytes = readFileSync(path)
    for (let at = 2000; at < bytes.length; at += 1500) bytes[at]! ^= 8
    writeFileSync(path, bytes)
    appendFileSync(path, 'more')
    let lost = 0
    for (const ref of INSTRUMENTS.filter(({ venue }) => venue === 'venueb')) {
      const page = await store.books({ ...ref, order: 'asc', limit: 100_000 })
      const right = new Set(model.rows(ref).map(lineOf))
      expect(rowsOf(page.runs).every((row) => right.has(lineOf(row)))).toBe(true)
      expect(page.corrupt.every(({ reason }) => reason === 'corrupt')).toBe(true)
      lost += page.corrupt.length
    }
    expect(lost).toBeGreaterThan(0)
    await store.close()
    rmSync(own, { recursive: true, force: true })
  })

  test('rows that no file holds are a gap, and no stale book is served in it', async () => {
    const own = createFolder()
    const ref = INSTRUMENTS[1]!
    const rows = model.rows(ref)
    const [from, to] = [
      rows[Math.floor(rows.length / 3)]!,
      rows[Math.floor((rows.length * 2) / 3)]!,
    ]
    await original.store.seal()
    await exportScripted(original.store, own, [
      { start: 0, end: from.received },
      { start: to.received, end: Number.MAX_SAFE_INTEGER },
    ])
    const store = await openFolder(own)
    const page = await store.books({ ...ref, order: 'asc', limit: 100_000 })
    const found = rowsOf(page.runs)
    const wanted = new Map(rows.map((row) => [row.sequence, lineOf(row)]))
    expect(found.every((row) => wanted.get(row.sequence) === lineOf(row))).toBe(true)
    const at = found.findIndex((row, index) => row.sequence !== index + 1)
    expect(at).toBeGreaterThan(0)
    expect(page.corrupt).toMatchObject([{ afterSequence: at, reason: 'corrupt' }])
    const middle = Math.floor((found[at - 1]!.received + found[at]!.received) / 2)
    const answer = await store.asOf({ ...ref, at: middle })
    expect(answer.run).toBeUndefined()
    await store.close()
    rmSync(own, { recursive: true, force: true })
  })
})
