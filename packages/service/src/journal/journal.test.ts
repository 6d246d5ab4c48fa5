import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PriorbookError, toMicros } from '@priorbook/sdk/domain'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { journalStats, MAX_RECORD_BYTES, readJournal, readRecord } from '@priorbook/sdk/journal'
import { removeSegments, type SegmentLimits } from './index.ts'
import {
  contentOf,
  contents,
  createFolder,
  fill,
  openWriter,
  readAll,
  type Content,
} from './journal-folder.testing.ts'

describe('what goes in comes out', () => {
  const record = fc.record({
    step: fc.constant('append' as const),
    received: fc.oneof(
      fc.integer({ min: 1_786_000_000_000_000, max: 1_786_000_000_100_000 }),
      fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    ),
    kind: fc.constantFrom('message' as const, 'note' as const),
    bytes: fc.uint8Array({ maxLength: 400 }),
  })
  const step = fc.oneof(
    { weight: 8, arbitrary: record },
    { weight: 2, arbitrary: fc.constant({ step: 'commit' as const }) },
    { weight: 1, arbitrary: fc.constant({ step: 'reopen' as const }) },
  )

  test('for any bytes, times, commit points, segment sizes and reopenings', () => {
    const root = createFolder()
    let run = 0
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.integer({ min: 1, max: 3000 }),
        fc.integer({ min: -5, max: 12 }),
        (steps, segmentBytes, level) => {
          const dir = join(root, String(run++))
          const expected: Content[] = []
          const problems: number[] = []
          let writer = openWriter(dir, { segmentBytes, level })
          for (const action of steps) {
            switch (action.step) {
              case 'append': {
                const { kind, bytes } = action
                const received = toMicros(action.received)
                const slot = kind === 'note' ? 0 : bytes.length % 254
                expected.push({
                  number: writer.append(received, kind, bytes, slot),
                  received,
                  kind,
                  slot,
                  bytes,
                })
                break
              }
              case 'commit':
                problems.push(writer.commit() - expected.length)
                break
              case 'reopen':
                writer.close()
                writer = openWriter(dir, { segmentBytes, level })
                problems.push(writer.repaired?.length ?? 0)
                break
            }
          }
          writer.close()
          expect(problems.filter((problem) => problem !== 0)).toEqual([])
          const { records, damages } = readAll(dir)
          expect(damages).toEqual([])
          expect(records).toEqual(expected)
          expect(records.map((content) => content.number)).toEqual(expected.map((_, i) => i + 1))
        },
      ),
      { numRuns: 80, seed: 20260805 },
    )
  })

  test('a long run is split into blocks of at most 1 MiB, in one commit', () => {
    const dir = createFolder()
    const writer = openWriter(dir)
    const bytes = Buffer.alloc(3000, 'x')
    for (let i = 0; i < 2000; i++) writer.append(toMicros(i), 'message', bytes)
    expect(writer.commit()).toBe(2000)
    writer.close()
    const stats = journalStats(dir, 'venueb')
    expect(stats.segments[0]).toMatchObject({ blocks: 6, records: 2000, last: 2000 })
    expect(stats.segments[0]!.rawBytes / 6).toBeLessThanOrEqual(1024 * 1024)
    for (const item of readJournal({ dir, venue: 'venueb' })) {
      // The bytes of a block are views into one buffer.
      const buffers = item.kind === 'block' ? item.bytes.map((bytes) => bytes.buffer) : []
      expect(new Set(buffers).size).toBe(1)
    }
  })

  test('a message of 32 MiB is kept, a larger one is refused and costs no number', () => {
    const dir = createFolder()
    const writer = openWriter(dir)
    const large = Buffer.alloc(MAX_RECORD_BYTES, '0123456789abcdef!')
    writer.append(toMicros(1), 'message', Buffer.from('small'))
    writer.append(toMicros(2), 'message', large)
    expect(() => writer.append(toMicros(3), 'message', Buffer.alloc(large.length + 1))).toThrow(
      PriorbookError,
    )
    expect(writer.append(toMicros(4), 'message', new Uint8Array())).toBe(3)
    writer.close()
    expect(large.equals(readRecord({ dir, venue: 'venueb' }, 2)!.bytes)).toBe(true)
    expect(readRecord({ dir, venue: 'venueb' }, 3)!.bytes).toHaveLength(0)
  })

  test('the caller may reuse its buffer as soon as append returns', () => {
    const dir = createFolder()
    const writer = openWriter(dir)
    const bytes = Buffer.from('first')
    writer.append(toMicros(1), 'message', bytes)
    bytes.write('other')
    writer.close()
    expect(Buffer.from(readRecord({ dir, venue: 'venueb' }, 1)!.bytes).toString()).toBe('first')
  })

  test('nothing is written before commit, and a closed writer takes nothing', () => {
    const dir = createFolder()
    const writer = openWriter(dir)
    writer.append(toMicros(1), 'message', Buffer.from('x'))
    expect(readAll(dir).records).toEqual([])
    expect(writer).toMatchObject({ nextNumber: 2, committed: 0, pendingBytes: 1 })
    expect(writer.commit()).toBe(1)
    expect(writer).toMatchObject({ nextNumber: 2, committed: 1, pendingBytes: 0 })
    writer.close()
    expect(() => writer.commit()).toThrow(expect.objectContaining({ code: 'store_closed' }))
  })
})

describe('files', () => {
  test('are rotated by size and named by their first number', () => {
    const dir = createFolder()
    const writer = openWriter(dir, { segmentBytes: 2000 })
    fill(writer, 300, 3)
    writer.close()
    const stats = journalStats(dir, 'venueb')
    expect(stats.files).toBeGreaterThan(5)
    for (const segment of stats.segments) {
      expect(segment.file).toContain(String(segment.first).padStart(16, '0'))
      expect(segment.bytes).toBeLessThanOrEqual(2000 + 72)
      expect(statSync(segment.file).size).toBe(segment.bytes)
    }
    expect(readAll(dir)).toEqual({ records: contents(1, 300), damages: [] })
  })

  test('a range gives exactly its records, a number its record', () => {
    const dir = createFolder()
    const writer = openWriter(dir, { segmentBytes: 2000 })
    fill(writer, 200, 7)
    writer.close()
    for (const [from, to] of [
      [1, 1],
      [3, 5],
      [7, 8],
      [50, 150],
      [199, 300],
    ] as const) {
      const records = contents(from, Math.min(to, 200))
      expect(readAll(dir, { from, to })).toEqual({ records, damages: [] })
    }
    expect(readAll(dir, { from: 201 })).toEqual({ records: [], damages: [] })
    for (let number = 1; number <= 200; number++) {
      const provenance = { origin: 'live', recorder: 'r1' }
      expect(readRecord({ dir, venue: 'venueb' }, number)).toEqual({
        ...contentOf(number),
        ...provenance,
      })
    }
    expect(readRecord({ dir, venue: 'venueb' }, 201)).toBeUndefined()
    expect(readRecord({ dir, venue: 'venuec' }, 1)).toBeUndefined()
  })

  test('statistics come from headers and follow a clock that steps back', () => {
    const dir = createFolder()
    const writer = openWriter(dir)
    for (const time of [500, 900, 100, 400]) {
      writer.append(toMicros(time), 'message', Buffer.from('{}'))
      writer.commit()
    }
    writer.close()
    const stats = journalStats(dir, 'venueb')
    expect(stats).toMatchObject({ files: 1, records: 4, first: 1, last: 4 })
    expect(stats).toMatchObject({ firstReceived: 500, lastReceived: 400 })
    expect(stats.segments[0]).toMatchObject({ minReceived: 100, maxReceived: 900, badBytes: 0 })
    expect(journalStats(dir, 'venuea')).toMatchObject({ files: 0, bytes: 0, first: undefined })
  })

  test('another recorder or origin starts a file of its own', () => {
    const dir = createFolder()
    for (const [recorder, origin] of [
      ['r1', 'live'],
      ['r2', 'live'],
      ['r2', 'import'],
      ['r2', 'import'],
    ] as const) {
      const writer = openWriter(dir, { recorder, origin })
      fill(writer, 2, 1)
      writer.close()
    }
    expect(journalStats(dir, 'venueb')).toMatchObject({ files: 3, records: 8 })
    expect(readAll(dir)).toEqual({ records: contents(1, 8), damages: [] })
    expect(readRecord({ dir, venue: 'venueb' }, 4)).toMatchObject({
      recorder: 'r2',
      origin: 'live',
    })
  })

  test('emulated data shares a folder with no other, whatever the venue', () => {
    const emulated = createFolder()
    fill(openWriter(emulated, { origin: 'emulator' }), 1, 1)
    expect(() => openWriter(emulated, { venue: 'venuec' })).toThrow('emulator data of venueb')
    const live = createFolder()
    fill(openWriter(live), 1, 1)
    expect(() => openWriter(live, { origin: 'emulator' })).toThrow(PriorbookError)
    openWriter(live, { origin: 'import' }).close()
    expect(() => openWriter(live, { recorder: 'no spaces' })).toThrow(
      expect.objectContaining({ code: 'invalid_id' }),
    )
  })

  test('a second writer is noticed before it overwrites anything', () => {
    const dir = createFolder()
    const one = openWriter(dir)
    fill(one, 3, 1)
    const two = openWriter(dir)
    fill(two, 2, 1)
    one.append(toMicros(9), 'message', Buffer.from('lost'))
    expect(() => one.commit()).toThrow(expect.objectContaining({ code: 'store_locked' }))
    expect(readAll(dir)).toEqual({ records: contents(1, 5), damages: [] })
    two.close()
  })
})

describe('docs/formats/journal.md', () => {
  test('shows a file that this build reads as it says', () => {
    const page = new URL('../../../../docs/formats/journal.md', import.meta.url)
    const [, dump = ''] = /```hex\n([^`]+)```/.exec(readFileSync(page, 'utf8')) ?? []
    const dir = createFolder()
    mkdirSync(join(dir, 'venueb'))
    const bytes = Buffer.from(dump.replaceAll(/^\w{4} |\s/gm, ''), 'hex')
    expect(bytes).toHaveLength(312)
    writeFileSync(join(dir, 'venueb', '0000000000000001.pbj'), bytes)
    const { records, damages } = readAll(dir)
    expect(damages).toEqual([])
    expect(
      records.map((record) => [record.received, Buffer.from(record.bytes).toString()]),
    ).toEqual([
      [1_786_410_975_904_000, '{"note":"opened"}'],
      [1_786_410_975_903_750, '{"type":"ok"}'],
    ])
    expect(openWriter(dir)).toMatchObject({ repaired: undefined, nextNumber: 3 })
  })
})

describe('retention', () => {
  test('removes whole old files, oldest first, and says which numbers went', () => {
    const dir = createFolder()
    const writer = openWriter(dir, { segmentBytes: 2000 })
    fill(writer, 300, 3)
    const { segments } = journalStats(dir, 'venueb')
    const remove = (limits: SegmentLimits) => removeSegments(dir, 'venueb', limits)
    expect(remove({ before: segments[0]!.maxReceived! })).toBeUndefined()
    const before = segments[2]!.maxReceived! + 1
    // Records that the tape does not have yet stay, and a dry run removes nothing.
    expect(remove({ before, applied: segments[1]!.first - 2 })).toBeUndefined()
    expect(remove({ before, isDryRun: true })!.files).toHaveLength(3)
    const removed = remove({ before })
    const last = segments[3]!.first - 1
    expect(removed).toMatchObject({ first: 1, last })
    expect(removed!.files).toHaveLength(3)
    expect(readAll(dir)).toEqual({ records: contents(last + 1, 300), damages: [] })
    expect(readRecord({ dir, venue: 'venueb' }, last)).toBeUndefined()
    expect(readAll(dir, { from: 1, to: 2 }).records).toEqual([])
    // The newest file stays however old it is, and numbering goes on.
    const { bytes } = journalStats(dir, 'venueb')
    expect(remove({ bytes })).toBeUndefined()
    expect(remove({ bytes: bytes - 1 })!.files).toHaveLength(1)
    remove({ before: Number.MAX_SAFE_INTEGER })
    expect(readdirSync(join(dir, 'venueb'))).toHaveLength(1)
    fill(writer, 1, 1)
    writer.close()
    expect(openWriter(dir).nextNumber).toBe(302)
  })
})
