import { spawn } from 'node:child_process'
import {
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRandom } from '../../../lib/random.testing.ts'
import { openObjects } from '../../../objects/open-objects.ts'
import { Scrubber } from '../../../retention/scrubber.ts'
import type { AppendBatch } from '../../store.ts'
import { complaintsOf, inspectStore, NO_COMPLAINTS } from '../inspect.testing.ts'
import { openEmbeddedStore, type EmbeddedStore } from '../open.ts'
import { makeBatches } from '../tape-batches.testing.ts'
import { SMALL_CHUNKS, writeSealedTape } from '../sealed-tape.testing.ts'
import { createTapeFolder, type TapeFolder } from '../tape-folder.testing.ts'
import { Oracle } from '../tape-oracle.testing.ts'
import { moveAll } from './cold-store.testing.ts'

const DAY = 86_400_000_000
const limits = SMALL_CHUNKS
const oracle = new Oracle()
const original = mkdtempSync(join(tmpdir(), 'priorbook-cold-'))

beforeAll(() => writeSealedTape(join(original, 'tape.db'), oracle))

afterAll(() => rmSync(original, { recursive: true, force: true }))

/** A copy of the tape, and a folder for its chunks. */
function copyTape(): TapeFolder & { readonly address: string; segments(): string[] } {
  const folder = createTapeFolder()
  copyFileSync(join(original, 'tape.db'), folder.file)
  const address = join(dirname(folder.file), 'objects')
  return { ...folder, address, segments: () => globSync(join(address, '**/*.seg')).toSorted() }
}

/** The same batch at another time. */
function shiftTimes(batch: AppendBatch, by: number): AppendBatch {
  const times = new Set(['received', 'source', 'start', 'end', 'sourceStart', 'sourceEnd'])
  const shift = (value: unknown, name: string): unknown => {
    if (typeof value === 'number') return times.has(name) && value > 1e15 ? value + by : value
    if (Array.isArray(value)) return value.map((one) => shift(one, name))
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shift(one, key)]))
  }
  return shift(batch, '') as AppendBatch
}

async function expectWhole(store: EmbeddedStore, seed = 1): Promise<void> {
  const findings = await inspectStore(store, oracle, createRandom(seed))
  expect(complaintsOf(findings)).toEqual(NO_COMPLAINTS)
}

describe('chunks in other storage', () => {
  test('are read as before, by the writer and by readers; the tape is smaller', async () => {
    const tape = copyTape()
    const writer = tape.open()
    const before = (await writer.verify()).observations
    const moved = await moveAll(writer, tape.address)
    expect(moved.segments).toBeGreaterThan(3)
    expect(await writer.coldCounts()).toMatchObject({
      segments: moved.segments,
      chunks: moved.chunks,
    })
    await expectWhole(writer)
    await expectWhole(tape.open({ readOnly: true }))
    expect(await writer.verify()).toMatchObject({ observations: before, problems: [] })
    const [left] = tape.sql('SELECT count(*) AS bodies FROM body')
    const [all] = tape.sql('SELECT count(*) AS chunks FROM chunk')
    expect(all!['chunks']).toBe(Number(left!['bodies']) + moved.chunks)
    expect(await moveAll(writer, tape.address)).toMatchObject({ segments: 0, chunks: 0 })
  })

  test('are named in the index of their segment, which tells what it holds without the tape', async () => {
    const tape = copyTape()
    const writer = tape.open()
    const { chunks } = await moveAll(writer, tape.address)
    let named = 0
    for (const path of tape.segments()) {
      const bytes = readFileSync(path)
      // As docs/formats/segments.md describes it, without code of ours.
      const start = Number(bytes.readBigUInt64LE(bytes.length - 24))
      const length = bytes.readUInt32LE(bytes.length - 16)
      const { zstdDecompressSync } = await import('node:zlib')
      const text = zstdDecompressSync(bytes.subarray(start, start + length)).toString('utf8')
      const index = JSON.parse(text) as {
        chunks: { start: number; length: number; venue: string }[]
      }
      named += index.chunks.length
      expect(path).toContain(`/tape/v1/${index.chunks[0]!.venue}/`)
      for (const { start: at } of index.chunks) {
        expect(bytes.toString('latin1', at, at + 4)).toBe(
          readFileSync(path).toString('latin1', 8, 12),
        )
      }
    }
    expect(named).toBe(chunks)
  })

  test('keep their hashes for the roots of days', async () => {
    const hashes = async (store: EmbeddedStore): Promise<string[]> => {
      const found: string[] = []
      for (
        let step = await store.readSealed();
        step !== undefined;
        step = await store.readSealed()
      ) {
        found.push(...step.chunks.map((chunk) => JSON.stringify(chunk)))
        await store.forgetSealed(step)
      }
      return found
    }
    const [one, other] = [copyTape(), copyTape()]
    const moving = other.open()
    expect((await moveAll(moving, other.address)).chunks).toBeGreaterThan(0)
    const here = await hashes(one.open())
    expect(here.length).toBeGreaterThan(10)
    expect(await hashes(moving)).toEqual(here)
  })

  test('are lost as declared gaps where the storage lost them, and verify names them', async () => {
    const tape = copyTape()
    const writer = tape.open()
    await moveAll(writer, tape.address)
    const [first, second, third] = tape.segments() as [string, string, string]
    rmSync(first)
    const bytes = readFileSync(second)
    for (let at = 100; at < bytes.length - 2000; at += 3000) bytes[at]! ^= 4
    writeFileSync(second, bytes)
    truncateSync(third, statSync(third).size - 5)
    const { wrong, lost, errors, covered } = await inspectStore(
      tape.open({ readOnly: true }),
      oracle,
      createRandom(3),
    )
    expect({ wrong, lost, errors }).toEqual({ wrong: [], lost: [], errors: [] })
    expect(covered).toBeGreaterThan(0)
    const { problems } = await writer.verify()
    const told = problems.map(({ code, where }) => `${code} ${where}`).join('\n')
    expect(told).toContain(`object_missing ${first.slice(tape.address.length + 1)}`)
    expect(told).toContain(`object_damaged ${second.slice(tape.address.length + 1)}`)
    expect(told).toContain(`object_damaged ${third.slice(tape.address.length + 1)}`)
  })

  test('are an error, and no gap, while the storage is away; nothing moves then', async () => {
    const tape = copyTape()
    const writer = tape.open()
    await moveAll(writer, tape.address)
    const reader = tape.open({ readOnly: true })
    renameSync(tape.address, `${tape.address}.away`)
    const { wrong, lost, errors, covered } = await inspectStore(reader, oracle, createRandom(4))
    expect({ wrong, lost, covered }).toEqual({ wrong: [], lost: [], covered: 0 })
    expect(errors.length).toBeGreaterThan(0)
    expect(errors.every((error) => error.includes('objects_refused'))).toBe(true)
    const codes = new Set((await writer.verify()).problems.map(({ code }) => code))
    expect(codes).toEqual(new Set(['objects_refused']))
    // The newest rows are here, and those before are not needed to read them.
    for (const { instrument, lastReceived: start } of await reader.instruments()) {
      const { venue, key } = instrument
      const query = { venue, key, kind: 'book', metric: '', start, end: Infinity } as const
      const withBytes: boolean[] = []
      for await (const { bytes } of reader.chunksOfRange(query)) {
        withBytes.push(bytes !== undefined)
      }
      expect(withBytes.indexOf(true)).toBe(withBytes.length - 1)
    }
    renameSync(`${tape.address}.away`, tape.address)
    await expectWhole(reader)
  })

  test('leave the tape only when the storage reads back what was written', async () => {
    const tape = copyTape()
    const writer = tape.open()
    const objects = openObjects(tape.address, {})
    const order = { before: Infinity, now: Date.now() * 1000, every: 0 }
    const flipped = async (name: string, start: number, length: number): Promise<Uint8Array> => {
      const bytes = await objects.read(name, start, length)
      bytes[0]! ^= 1
      return bytes
    }
    const liar = { ...objects, read: flipped }
    await expect(writer.moveCold({ ...order, objects: liar })).rejects.toMatchObject({
      code: 'object_damaged',
    })
    expect(await writer.coldCounts()).toMatchObject({ chunks: 0 })
    await expectWhole(writer)
    // The same segment is there already, and right.
    expect((await writer.moveCold({ ...order, objects })).chunks).toBeGreaterThan(0)
    await expectWhole(writer)
  })

  test('go with retention; a segment without wanted chunks stays for backups, then goes', async () => {
    const tape = copyTape()
    const writer = tape.open()
    await moveAll(writer, tape.address)
    const count = tape.segments().length
    const facts = await writer.instruments()
    const last = Math.max(...facts.map(({ lastReceived }) => lastReceived))
    expect((await writer.retain(last + 1)).chunks).toBeGreaterThan(0)
    expect((await writer.verify()).problems).toEqual([])
    const objects = openObjects(tape.address, {})
    const now = Date.now() * 1000
    const order = { objects, before: 0, every: 0, keepUnused: DAY }
    expect((await writer.moveCold({ ...order, now })).removed).toBe(0)
    expect(tape.segments()).toHaveLength(count)
    expect((await writer.moveCold({ ...order, now: now + DAY - 1 })).removed).toBe(0)
    const { removed } = await writer.moveCold({ ...order, now: now + DAY })
    expect(removed).toBeGreaterThan(0)
    expect(tape.segments()).toHaveLength(count - removed)
    expect((await writer.verify()).problems).toEqual([])
  })

  test('never share a number with chunks that were written later', async () => {
    const tape = copyTape()
    const writer = tape.open({ limits })
    await moveAll(writer, tape.address)
    const grown = new Oracle()
    let count = 0
    for (const batch of makeBatches(11)) {
      if (++count > 900) await writer.append(batch)
      grown.add(batch)
      if (count === 1300) break
    }
    await writer.seal()
    const [shared] = tape.sql('SELECT count(*) AS bodies FROM body JOIN cold ON body = id')
    expect(shared).toEqual({ bodies: 0 })
    const { wrong, lost, silent, errors } = await inspectStore(writer, grown, createRandom(5))
    expect({ wrong, lost, silent, errors }).toEqual({ wrong: [], lost: [], silent: [], errors: [] })
    expect((await writer.verify()).problems).toEqual([])
  })

  test('across midnight stay here: counting days and removing rows never needs the storage', async () => {
    const folder = createTapeFolder()
    const address = join(dirname(folder.file), 'objects')
    const writer = folder.open({ limits })
    const shifted: AppendBatch[] = []
    for (const batch of makeBatches(11)) {
      // The first batches are of the evening before.
      shifted.push(shiftTimes(batch, -67 * 60_000_000))
      if (shifted.length === 900) break
    }
    for (const batch of shifted) await writer.append(batch)
    await writer.seal()
    expect((await moveAll(writer, address)).chunks).toBeGreaterThan(10)
    const [crossing] = folder.sql(
      `SELECT count(*) AS chunks FROM cold JOIN chunk USING (body)
       WHERE first_received / ${DAY} < last_received / ${DAY}`,
    )
    expect(crossing).toEqual({ chunks: 0 })
    renameSync(address, `${address}.away`)
    // Sums of days are made again from all rows.
    folder.sql("DELETE FROM state WHERE name = 'counted'")
    await writer.close()
    const again = folder.open({ limits })
    const more = makeBatches(11, 901)
    for (let count = 0; count < 30; count++) {
      await again.append(shiftTimes(more.next().value, -67 * 60_000_000))
    }
    const facts = await again.instruments()
    const middle = Math.max(...facts.map(({ lastReceived }) => lastReceived)) - 400_000_000
    expect((await again.retain(middle)).chunks).toBeGreaterThan(0)
    await again.seal()
    renameSync(`${address}.away`, address)
    expect((await again.verify()).problems).toEqual([])
  })

  test('of a tape are not removed by its copy', async () => {
    const tape = copyTape()
    const writer = tape.open()
    await moveAll(writer, tape.address)
    const copy = createTapeFolder()
    rmSync(copy.file, { force: true })
    await writer.backup(copy.file)
    const other = copy.open()
    await expectWhole(other)
    await other.retain(Number.MAX_SAFE_INTEGER)
    const objects = openObjects(tape.address, {})
    const now = Date.now() * 1000
    for (const at of [now, now + 100 * DAY]) {
      const report = await other.moveCold({ objects, before: 0, now: at, every: 0, keepUnused: 0 })
      expect(report.removed).toBe(0)
    }
    expect((await writer.verify()).problems).toEqual([])
    await expectWhole(writer)
  })

  test('replace half an object of their name, and go to another address', async () => {
    const tape = copyTape()
    const first = copyTape()
    await moveAll(first.open(), first.address)
    // The same chunks give the same names.
    for (const path of first.segments()) {
      const half = path.replace(first.address, tape.address)
      mkdirSync(dirname(half), { recursive: true })
      writeFileSync(half, readFileSync(path).subarray(0, 1000))
    }
    const writer = tape.open()
    const moved = await moveAll(writer, tape.address)
    expect(moved.segments).toBe(first.segments().length)
    expect((await writer.verify()).problems).toEqual([])
    await expectWhole(writer)
  })

  test('that were lost are derived again, and gaps of a storage that is whole again go', async () => {
    const tape = copyTape()
    const writer = tape.open()
    await moveAll(writer, tape.address)
    renameSync(join(tape.address, 'tape'), join(tape.address, 'lost'))
    const facts = await writer.instruments()
    for (const { instrument } of facts) await writer.scrubInstrument(instrument)
    const noted = await writer.gaps({ reason: 'corrupt' })
    expect(noted.length).toBeGreaterThan(0)
    const adopted = await writer.adopt(join(original, 'tape.db'), Date.now() * 1000)
    expect(adopted.length).toBeGreaterThan(0)
    await expectWhole(writer)

    const other = copyTape()
    const store = other.open()
    await moveAll(store, other.address)
    renameSync(join(other.address, 'tape'), join(other.address, 'lost'))
    for (const { instrument } of facts) await store.scrubInstrument(instrument)
    expect((await store.gaps({ reason: 'corrupt' })).length).toBeGreaterThan(0)
    renameSync(join(other.address, 'lost'), join(other.address, 'tape'))
    const stop = new AbortController()
    const log = { info: () => undefined, warn: () => undefined }
    const scrubbing = new Scrubber(store, { stepMs: 1 }).run(stop.signal, log)
    await expect.poll(() => store.gaps({ reason: 'corrupt' })).toEqual([])
    stop.abort()
    await scrubbing
    await expectWhole(store)
  })

  test('survive a kill of the mover at any moment', { timeout: 300_000 }, async () => {
    const tape = copyTape()
    const random = createRandom(7)
    const child = fileURLToPath(new URL('move-writer.testing.ts', import.meta.url))
    let kills = 0
    let ended = false
    for (let round = 0; round < 12 && !ended; round++) {
      const mover = spawn(process.execPath, [child, tape.file, tape.address], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let said = ''
      mover.stdout.setEncoding('utf8').on('data', (text: string) => {
        if (said === '') setTimeout(() => mover.kill('SIGKILL'), random() * 60)
        said += text
      })
      await new Promise((resolve) => mover.on('close', resolve))
      ended = said.includes('moved')
      if (!ended) kills++
      const store = openEmbeddedStore({ file: tape.file, readOnly: true })
      expect((await store.verify()).problems).toEqual([])
      await expectWhole(store, round)
      await store.close()
    }
    expect(kills).toBeGreaterThan(1)
    const store = tape.open()
    await moveAll(store, tape.address)
    expect((await store.coldCounts()).chunks).toBeGreaterThan(10)
    await expectWhole(store)
  })
})
