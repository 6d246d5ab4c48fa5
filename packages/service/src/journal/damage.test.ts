import {
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { toMicros } from '@priorbook/sdk/domain'
import { describe, expect, test } from 'vitest'
import { journalStats, readRecord } from '@priorbook/sdk/journal'
import type { JournalWriter } from './index.ts'
import { createRandom } from '../lib/random.testing.ts'
import {
  contentOf,
  contents,
  createFolder,
  fill,
  openWriter,
  readAll,
} from './journal-folder.testing.ts'

/** Files of venue B in order of their numbers. */
function filesOf(dir: string): readonly string[] {
  return readdirSync(join(dir, 'venueb'))
    .sort()
    .map((name) => join(dir, 'venueb', name))
}

/** Where something that looks like a block starts. */
function startsOf(bytes: Buffer): readonly number[] {
  const starts: number[] = []
  const magic = Buffer.of(0xf5, 0x50, 0x42, 0x4b)
  for (let at = bytes.indexOf(magic); at >= 0; at = bytes.indexOf(magic, at + 1)) starts.push(at)
  return starts
}

function createByte(seed: number): () => number {
  const random = createRandom(seed)
  return () => Math.floor(random() * 256)
}

/** Records read are true ones in order; every other number up to `last` is declared missing. */
function expectTruth(dir: string, last: number): ReturnType<typeof readAll> {
  const result = readAll(dir)
  const seen = new Set<number>()
  const wrong: number[] = []
  let before = 0
  for (const { number, received, kind, bytes } of result.records) {
    const truth = contentOf(number)
    const isTrue = received === truth.received && kind === truth.kind
    if (number <= before || !isTrue || Buffer.compare(bytes, truth.bytes) !== 0) wrong.push(number)
    before = number
    seen.add(number)
  }
  for (let number = 1; number <= last; number++) {
    const isDeclared = result.damages.some(
      (damage) => damage.firstMissing <= number && number <= (damage.lastMissing ?? number),
    )
    if (seen.has(number) === isDeclared) wrong.push(number)
  }
  expect(wrong).toEqual([])
  return result
}

describe('every change of a file is detected', () => {
  test('each single bit of a small closed file', () => {
    const dir = createFolder()
    const writer = openWriter(dir)
    fill(writer, 4, 2)
    writer.close()
    const [file] = filesOf(dir) as [string]
    const good = readFileSync(file)
    const fd = openSync(file, 'r+')
    const unseen: number[] = []
    for (let bit = 0; bit < good.length * 8; bit++) {
      const at = bit >> 3
      writeSync(fd, Buffer.of(good[at]! ^ (1 << (bit & 7))), 0, 1, at)
      if (expectTruth(dir, 4).damages.length === 0) unseen.push(bit)
      writeSync(fd, good, at, 1, at)
    }
    closeSync(fd)
    expect(unseen).toEqual([])
  })

  test('each truncation of a small closed file, alone and with a file behind it', () => {
    const dir = createFolder()
    const writer = openWriter(dir, { segmentBytes: 500 })
    fill(writer, 9, 2)
    writer.close()
    const [file, ...others] = filesOf(dir) as [string, ...string[]]
    expect(others.length).toBeGreaterThan(0)
    const good = readFileSync(file)
    for (let length = 0; length < good.length; length++) {
      writeFileSync(file, good.subarray(0, length))
      expect(expectTruth(dir, 9).damages.length, `length ${length}`).toBeGreaterThan(0)
    }
    for (const other of others) unlinkSync(other)
    for (let length = 0; length < good.length; length++) {
      writeFileSync(file, good.subarray(0, length))
      const { records } = readAll(dir)
      expect(records).toEqual(contents(1, records.length))
    }
  })

  test('seeded bit flips, zeroed spans, removed spans and repeated spans over several files', () => {
    const dir = createFolder()
    const writer = openWriter(dir, { segmentBytes: 6000 })
    fill(writer, 600, 20)
    writer.close()
    const files = filesOf(dir)
    const goods = files.map((file) => readFileSync(file))
    const random = createRandom(20260805)
    const pick = (below: number) => Math.floor(random() * below)
    for (let i = 0; i < 300; i++) {
      const which = pick(files.length - 1)
      const good = goods[which]!
      const at = pick(good.length - 200)
      const length = 1 + pick(199)
      let bad = Buffer.from(good)
      if (i % 4 === 0) bad[at]! ^= 1 << pick(8)
      if (i % 4 === 1) bad.fill(0, at, at + length)
      if (i % 4 === 2) bad = Buffer.concat([good.subarray(0, at), good.subarray(at + length)])
      if (i % 4 === 3) bad = Buffer.concat([good.subarray(0, at + length), good.subarray(at)])
      writeFileSync(files[which]!, bad)
      const { damages } = expectTruth(dir, 600)
      expect(damages.length > 0 || bad.equals(good), `change ${i}`).toBe(true)
      writeFileSync(files[which]!, good)
    }
    expect(readAll(dir).damages).toEqual([])
  })
})

describe('damage in the middle', () => {
  test('is reported with its numbers, and reading goes on at the next good block', () => {
    const dir = createFolder()
    const writer = openWriter(dir)
    fill(writer, 30, 10)
    writer.close()
    const [file] = filesOf(dir) as [string]
    const bytes = readFileSync(file)
    const second = startsOf(bytes)[1]!
    bytes[second + 100]! ^= 1
    writeFileSync(file, bytes)
    const { records, damages } = readAll(dir)
    expect(records).toEqual([...contents(1, 10), ...contents(21, 30)])
    expect(damages).toEqual([
      {
        kind: 'damage',
        file,
        offset: second,
        length: expect.any(Number),
        firstMissing: 11,
        lastMissing: 20,
        reason: 'bad_block',
      },
    ])
    expect(readRecord({ dir, venue: 'venueb' }, 10)).toMatchObject(contentOf(10))
    expect(readRecord({ dir, venue: 'venueb' }, 21)).toMatchObject(contentOf(21))
    expect(() => readRecord({ dir, venue: 'venueb' }, 15)).toThrow(
      expect.objectContaining({ code: 'corrupt_journal' }),
    )
    // Ranges that do not touch it do not report it.
    expect(readAll(dir, { from: 21 }).damages).toEqual([])
    expect(readAll(dir, { to: 10 }).damages).toEqual([])
    expect(readAll(dir, { from: 20, to: 20 }).damages).toHaveLength(1)
    // The writer leaves it alone and goes on behind it.
    const again = openWriter(dir)
    expect(again.repaired).toBeUndefined()
    fill(again, 10, 10)
    again.close()
    expect(readFileSync(file).subarray(0, bytes.length).equals(bytes)).toBe(true)
    expect(expectTruth(dir, 40).damages).toHaveLength(1)
  })

  test('a lost file and a misplaced file are missing records', () => {
    const dir = createFolder()
    const writer = openWriter(dir, { segmentBytes: 2000 })
    fill(writer, 200, 5)
    writer.close()
    const files = filesOf(dir)
    const { segments } = journalStats(dir, 'venueb')
    const range = { firstMissing: segments[2]!.first, lastMissing: segments[2]!.last }
    copyFileSync(files[1]!, files[2]!)
    expect(expectTruth(dir, 200).damages).toEqual([
      expect.objectContaining({ reason: 'bad_file_header' }),
      expect.objectContaining({ ...range, reason: 'bad_block' }),
    ])
    unlinkSync(files[2]!)
    expect(expectTruth(dir, 200).damages).toEqual([
      expect.objectContaining({ ...range, length: 0, reason: 'missing_records' }),
    ])
  })

  test('blocks inside a message are never taken for blocks of the journal', () => {
    // Messages that hold a block of another journal's file of the same name, and one of this file.
    // Random bytes and the fastest level keep zstd from changing them.
    const blockOf = (dir: string, which: number): Buffer => {
      const bytes = readFileSync(filesOf(dir)[0]!)
      const starts = startsOf(bytes)
      return bytes.subarray(starts[which], starts[which + 1])
    }
    const noise = Buffer.from(Array.from({ length: 300 }, createByte(5)))
    const append = (writer: JournalWriter, bytes: Uint8Array): void => {
      writer.append(toMicros(1), 'message', bytes)
      writer.commit()
    }
    const other = createFolder()
    const foreign = openWriter(other, { level: -100_000 })
    for (let i = 0; i < 40; i++) append(foreign, noise)
    foreign.close()
    const dir = createFolder()
    const writer = openWriter(dir, { level: -100_000 })
    append(writer, noise)
    append(writer, Buffer.concat([noise, blockOf(other, 30), noise]))
    append(writer, Buffer.concat([noise, blockOf(dir, 0), noise]))
    append(writer, noise)
    writer.close()
    const [file] = filesOf(dir) as [string]
    const good = readFileSync(file)
    const starts = startsOf(good)
    // Four blocks, two blocks inside messages, the closing mark.
    expect(starts).toHaveLength(7)
    for (const [start, missing] of [
      [starts[1]!, 2],
      [starts[3]!, 3],
    ] as const) {
      for (const at of [start, start + 40, start + 100]) {
        const bad = Buffer.from(good)
        bad[at]! ^= 1
        writeFileSync(file, bad)
        const { records, damages } = readAll(dir)
        const whole = [1, 2, 3, 4].filter((number) => number !== missing)
        expect(records.map((record) => record.number)).toEqual(whole)
        expect(damages).toMatchObject([{ firstMissing: missing, lastMissing: missing }])
      }
    }
  })

  test('the next good block is found wherever it starts', () => {
    for (let shift = 0; shift < 6; shift++) {
      const dir = createFolder()
      const writer = openWriter(dir)
      // Around 1 MiB, where the search reads its next window.
      writer.append(toMicros(1), 'message', randomBytes(1024 * 1024 - 80 - shift + 2))
      writer.commit()
      writer.append(toMicros(2), 'message', Buffer.from('found'))
      writer.close()
      const [file] = filesOf(dir) as [string]
      const bytes = readFileSync(file)
      bytes[128]! ^= 1
      writeFileSync(file, bytes)
      expect(readAll(dir).records).toMatchObject([{ number: 2, received: 2 }])
    }
  })
})

describe('a torn tail', () => {
  /** An unclosed journal of 20 committed records whose last commit may be torn. */
  function createTorn(change: (bytes: Buffer, last: number) => Buffer): {
    readonly dir: string
    readonly file: string
  } {
    const dir = createFolder()
    const writer = openWriter(dir)
    fill(writer, 20, 5)
    const [file] = filesOf(dir) as [string]
    const last = readFileSync(file).length
    fill(writer, 10, 10)
    writeFileSync(file, change(readFileSync(file), last))
    return { dir, file }
  }

  test('of any length is cut off, reported, and its numbers are given again', () => {
    const random = createRandom(3)
    for (let i = 0; i < 40; i++) {
      let last = 0
      const { dir, file } = createTorn((bytes, end) => {
        last = end
        const length = end + 1 + Math.floor(random() * (bytes.length - end - 1))
        // A crash leaves a part of the write, or after a power cut its length with holes of zeros.
        return i % 2 === 0 ? bytes.subarray(0, length) : bytes.fill(0, length - 1)
      })
      const torn = readFileSync(file).length
      expect(readAll(dir).records).toEqual(contents(1, 20))
      expect(readAll(dir).damages).toMatchObject([{ firstMissing: 21, reason: 'torn_tail' }])
      const writer = openWriter(dir)
      expect(writer.repaired).toEqual({ file, offset: last, length: torn - last, first: 21 })
      expect(readFileSync(file)).toHaveLength(last)
      expect(writer.nextNumber).toBe(21)
      fill(writer, 4, 2)
      writer.close()
      expect(readAll(dir)).toEqual({ records: contents(1, 24), damages: [] })
    }
  })

  test('that held acknowledged records is damage: left alone, and no number is given twice', () => {
    const { dir, file } = createTorn((bytes) => bytes.fill(0, bytes.length - 20))
    const before = readFileSync(file)
    const writer = openWriter(dir, { acknowledged: 25 })
    expect(writer.repaired).toBeUndefined()
    expect(writer.nextNumber).toBe(31)
    fill(writer, 5, 5)
    writer.close()
    expect(readFileSync(file).equals(before)).toBe(true)
    expect(expectTruth(dir, 35).damages).toMatchObject([{ firstMissing: 21, lastMissing: 30 }])
  })

  test('of two blocks does not pretend to know how many records it held', () => {
    const { dir } = createTorn((bytes) => {
      for (const start of startsOf(bytes).slice(-2)) bytes[start + 80]! ^= 1
      return bytes
    })
    expect(readAll(dir).records).toEqual(contents(1, 15))
    expect(readAll(dir).damages).toMatchObject([{ firstMissing: 16, lastMissing: undefined }])
    expect(openWriter(dir, { acknowledged: 99 }).nextNumber).toBe(100)
  })

  test('a closed file has none: a bad last block is damage', () => {
    const dir = createFolder()
    const writer = openWriter(dir)
    fill(writer, 20, 10)
    writer.close()
    const [file] = filesOf(dir) as [string]
    const bytes = readFileSync(file)
    bytes[bytes.length - 72 - 1]! ^= 1
    writeFileSync(file, bytes)
    const again = openWriter(dir)
    expect(again).toMatchObject({ repaired: undefined, nextNumber: 21 })
    again.close()
    expect(readFileSync(file).equals(bytes)).toBe(true)
    expect(expectTruth(dir, 20).damages).toMatchObject([{ firstMissing: 11, lastMissing: 20 }])
  })

  test('a file that was only just created is removed', () => {
    for (const length of [0, 50, 128]) {
      const dir = createFolder()
      const writer = openWriter(dir, { segmentBytes: 700 })
      fill(writer, 12, 2)
      const files = filesOf(dir)
      const newest = files.at(-1)!
      const first = Number(newest.slice(-20, -4))
      truncateSync(newest, length)
      const again = openWriter(dir)
      expect(again.repaired).toMatchObject({ file: newest, offset: 0, length, first })
      expect(again.nextNumber).toBe(first)
      fill(again, 5, 5)
      again.close()
      expect(readAll(dir)).toEqual({ records: contents(1, first + 4), damages: [] })
    }
  })

  test('a newest file that is unreadable as a whole is left alone and jumped over', () => {
    const dir = createFolder()
    const writer = openWriter(dir)
    fill(writer, 20, 10)
    writer.close()
    const [file] = filesOf(dir) as [string]
    const moved = join(dir, 'venueb', '0000000000000005.pbj')
    renameSync(file, moved)
    const before = readFileSync(moved)
    const again = openWriter(dir)
    expect(again.nextNumber).toBe(1_000_000_005)
    fill(again, 1, 1)
    again.close()
    expect(readFileSync(moved).equals(before)).toBe(true)
    expect(readAll(dir).damages).toMatchObject([
      { reason: 'bad_file_header' },
      { reason: 'bad_block', firstMissing: 5, lastMissing: 1_000_000_004 },
    ])
  })

  test('a newer format version is refused, not repaired', () => {
    const dir = createFolder()
    fill(openWriter(dir), 2, 1)
    const [file] = filesOf(dir) as [string]
    const bytes = readFileSync(file)
    bytes.writeUInt16LE(3, 8)
    bytes.writeUInt32LE(crc32(bytes.subarray(0, 124)), 124)
    writeFileSync(file, bytes)
    const unsupported = expect.objectContaining({ code: 'unsupported_format' })
    expect(() => openWriter(dir)).toThrow(unsupported)
    expect(() => readAll(dir)).toThrow(unsupported)
    expect(readFileSync(file).equals(bytes)).toBe(true)
  })
})
