import {
  cpSync,
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { journalStats } from '@priorbook/sdk/journal'
import { listSegments } from '@priorbook/sdk/journal/format'
import { describe, expect, it } from 'vitest'
import { createRandom } from '../lib/random.testing.ts'
import { openObjects } from '../objects/open-objects.ts'
import {
  fetchRecord,
  findAway,
  moveAway,
  readJournal,
  readRecord,
  removeSegments,
  SegmentSizes,
} from './index.ts'
import {
  contentOf,
  contents,
  createFolder,
  fill,
  openWriter,
  readAll,
  type Content,
} from './journal-folder.testing.ts'

const RECORDS = 4000
const venue = 'venueb'
const LATER = 1_790_000_000_000_000
const DAY = 86_400_000_000

/** A journal of some files, and the storage that they are moved to. */
function create() {
  const data = createFolder()
  const dir = join(data, 'journal')
  const address = join(createFolder(), 'archive')
  const writer = openWriter(dir, { segmentBytes: 20_000 })
  fill(writer, RECORDS, 37)
  writer.close()
  const move = (order: Partial<Parameters<typeof moveAway>[0]> = {}) =>
    moveAway({
      dir,
      venue,
      objects: openObjects(address, {}),
      sizes: new SegmentSizes(),
      owner: 1,
      before: LATER,
      packed: RECORDS,
      now: LATER,
      keepUnused: DAY,
      ...order,
    })
  return { data, dir, address, move }
}

function read(dir: string, from = 1, to = RECORDS): readonly Content[] {
  const found: Content[] = []
  for (const item of readJournal({ dir, venue, from, to })) {
    if (item.kind === 'damage') throw new Error(JSON.stringify(item))
    for (let at = 0; at < item.count; at++) {
      found.push({
        number: item.first + at,
        received: item.received[at]!,
        kind: item.kinds[at]!,
        slot: item.slots[at]!,
        bytes: item.bytes[at]!,
      })
    }
  }
  return found
}

const filesOf = (dir: string): string[] => readdirSync(join(dir, venue)).toSorted()

describe('moving a journal away', () => {
  it('leaves notes, and every record, range and count as it was', async () => {
    const { dir, address, move } = create()
    const files = listSegments(dir, venue).length
    const counted = journalStats(dir, venue)
    expect(files).toBeGreaterThan(5)
    const { files: moved, bytes } = await move()
    expect(moved).toBe(files - 1)
    expect(bytes).toBeGreaterThan(50_000)
    expect(filesOf(dir).filter((name) => name.endsWith('.pbj'))).toHaveLength(1)
    expect(globSync(join(address, 'journal/v1/venueb/*.pbj'))).toHaveLength(moved)
    const { segments: before, ...sums } = counted
    const { segments: after, ...sumsAfter } = journalStats(dir, venue)
    expect(sumsAfter).toEqual(sums)
    const numbers = (segments: typeof before): unknown[] =>
      segments.map((segment) => ({ ...segment, file: '' }))
    expect(numbers(after)).toEqual(numbers(before))
    expect(read(dir)).toEqual(contents(1, RECORDS))
    const random = createRandom(7)
    for (let round = 0; round < 30; round++) {
      const from = 1 + Math.floor(random() * RECORDS)
      const to = Math.min(RECORDS, from + Math.floor(random() * 300))
      expect(read(dir, from, to)).toEqual(contents(from, to))
      const { number, bytes: own } = contentOf(from)
      expect(readRecord({ dir, venue }, number)?.bytes).toEqual(own)
      expect((await fetchRecord({ dir, venue }, number))?.bytes).toEqual(own)
    }
    expect(await fetchRecord({ dir, venue }, RECORDS + 1)).toBeUndefined()
    expect(await move()).toMatchObject({ files: 0 })
    // A writer goes on behind it.
    const writer = openWriter(dir)
    expect(writer.nextNumber).toBe(RECORDS + 1)
    writer.close()
  })

  it('reads one record with few requests, not the whole file', async () => {
    const data = createFolder()
    const dir = join(data, 'journal')
    const address = join(createFolder(), 'archive')
    const writer = openWriter(dir, { segmentBytes: 4_000_000, level: 1 })
    const random = createRandom(3)
    for (let at = 0; at < 3000; at++) {
      const noise = Uint8Array.from({ length: 2000 }, () => Math.floor(random() * 256))
      writer.append(contentOf(at + 1).received, 'message', noise, 1)
      if (at % 10 === 0) writer.commit()
    }
    writer.close()
    const order = {
      dir,
      venue,
      owner: 1,
      before: LATER,
      packed: 3000,
      now: LATER,
      keepUnused: DAY,
    } as const
    const objects = openObjects(address, {})
    await moveAway({ ...order, objects, sizes: new SegmentSizes() })
    expect((await fetchRecord({ dir, venue }, 1500))?.bytes).toHaveLength(2000)
    const kept = readdirSync(join(data, 'cold-cache'))
    expect(kept.length).toBeGreaterThan(0)
    expect(kept.length).toBeLessThan(8)
  })

  it('keeps what is new, or what a damaged tape would need', async () => {
    const { dir, move } = create()
    const segments = listSegments(dir, venue)
    const third = segments[3]!.first
    expect(await move({ packed: third - 1 })).toMatchObject({ files: 3 })
    const { received } = contentOf(segments[5]!.first - 1)
    await move({ before: received + 1 })
    const left = listSegments(dir, venue).filter(({ isAway }) => !isAway)
    expect(left[0]!.first).toBeGreaterThanOrEqual(segments[4]!.first)
    expect(left.length).toBeGreaterThan(1)
    expect(read(dir)).toEqual(contents(1, RECORDS))
  })

  it('goes on after a kill at any step', async () => {
    const { dir, address, move } = create()
    const whole = join(createFolder(), 'whole')
    cpSync(dir, whole, { recursive: true })
    await move()
    // Killed before the file was removed; before its note was written; while the object was written.
    const [one, two, three] = listSegments(whole, venue)
    for (const { path } of [one!, two!, three!]) {
      cpSync(path, path.replace(whole, dir))
    }
    const note = (path: string): string => path.replace(whole, dir).replace('.pbj', '.away')
    renameSync(note(two!.path), `${note(two!.path)}.temporary`)
    const [object] = globSync(
      join(address, `journal/v1/venueb/${three!.path.slice(-20, -4)}-*.pbj`),
    )
    writeFileSync(object!, readFileSync(object!).subarray(0, 1000))
    expect(read(dir)).toEqual(contents(1, RECORDS))
    expect(await move()).toMatchObject({ files: 3 })
    expect(filesOf(dir).filter((name) => name.endsWith('.pbj'))).toHaveLength(1)
    expect(read(dir)).toEqual(contents(1, RECORDS))
  })

  it('tells what is damaged, missing or out of reach, and reads the rest', async () => {
    const { dir, data, address, move } = create()
    await move()
    const fresh = (): string => {
      const copy = join(createFolder(), 'journal')
      cpSync(dir, copy, { recursive: true })
      return copy
    }
    const [first, second] = listSegments(dir, venue)
    // A damaged note.
    const noted = fresh()
    const path = join(noted, venue, first!.path.slice(-21))
    writeFileSync(path, readFileSync(path, 'utf8').replace('"size":', '"size":9'))
    const { damages, records } = readAll(noted, { from: 1, to: second!.first - 1 })
    expect([records, damages.length]).toEqual([[], 1])
    // The storage is away, without a cache.
    renameSync(address, `${address}.gone`)
    await expect(fetchRecord({ dir: fresh(), venue }, 1)).rejects.toMatchObject({
      code: 'objects_refused',
    })
    expect(() => readRecord({ dir: fresh(), venue }, 1)).toThrow(/folder|there|objects/)
    renameSync(`${address}.gone`, address)
    // Some bytes of an object are others.
    const [object] = globSync(join(address, 'journal/v1/venueb/*1-*.pbj'))
    const bytes = readFileSync(object!)
    bytes[5000]! ^= 1
    writeFileSync(object!, bytes)
    const bad: number[] = []
    let good = 0
    for (const item of readJournal({ dir: fresh(), venue })) {
      if (item.kind === 'damage') bad.push(item.lastMissing! - item.firstMissing + 1)
      else good += item.count
    }
    expect(bad).toHaveLength(1)
    expect(bad[0]! + good).toBe(RECORDS)
    // An object is gone.
    renameSync(object!, `${object}.x`)
    await expect(fetchRecord({ dir: fresh(), venue }, 1)).rejects.toMatchObject({
      code: 'object_missing',
    })
    expect(existsSync(join(data, 'cold-cache'))).toBe(false)
  })

  it('is removed by retention; objects go later, and only by the folder that moved them', async () => {
    const { dir, address, move } = create()
    await move()
    const segments = listSegments(dir, venue)
    const copy = join(createFolder(), 'journal')
    cpSync(dir, copy, { recursive: true })
    const before = contentOf(segments[3]!.first + 5).received
    for (const folder of [dir, copy]) {
      const removed = removeSegments(folder, venue, { before })
      expect(removed).toMatchObject({ first: 1, last: segments[3]!.first - 1 })
      expect(read(folder, segments[3]!.first)).toEqual(contents(segments[3]!.first, RECORDS))
    }
    const objects = (): number => globSync(join(address, 'journal/v1/venueb/*.pbj')).length
    const all = objects()
    const now = Date.now() * 1000
    expect(await move({ now })).toMatchObject({ removed: 0 })
    expect(await move({ dir: copy, owner: 2, now: now + 2 * DAY })).toMatchObject({ removed: 0 })
    expect(objects()).toBe(all)
    expect(await move({ now: now + 2 * DAY })).toMatchObject({ removed: 3 })
    expect(objects()).toBe(all - 3)
    expect(filesOf(dir).some((name) => name.endsWith('.unwanted'))).toBe(false)
  })

  it('is found again by a folder that knows nothing of it', async () => {
    const { dir, address, move } = create()
    await move()
    const last = listSegments(dir, venue).at(-1)!.first - 1
    const other = join(createFolder(), 'journal')
    const objects = openObjects(address, {}, false)
    expect(await findAway(other, objects)).toBe(listSegments(dir, venue).length - 1)
    expect(await findAway(other, objects)).toBe(0)
    expect(read(other, 1, last)).toEqual(contents(1, last))
    const writer = openWriter(other)
    expect(writer.nextNumber).toBe(last + 1)
    writer.close()
  })
})
