import {
  cpSync,
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { journalStats, type JournalRecord } from '@priorbook/sdk/journal'
import { listSegments } from '@priorbook/sdk/journal/format'
import { describe, expect, it } from 'vitest'
import { createRandom } from '../lib/random.testing.ts'
import { openObjects } from '../objects/open-objects.ts'
import {
  checkAway,
  fetchRecords,
  findAway,
  moveAway,
  readJournal,
  readRecord,
  removeSegments,
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
const DAY = 86_400_000_000
const LATER = Date.now() * 1000 + DAY

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
  const { records, damages } = readAll(dir, { from, to })
  expect(damages).toEqual([])
  return records
}

async function fetchRecord(
  journal: Parameters<typeof fetchRecords>[0],
  number: number,
): Promise<JournalRecord | undefined> {
  return (await fetchRecords(journal, number, number)).get(number)
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
    await moveAway({ ...order, objects })
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
    // A file that was written to lately stays, whatever its records say.
    expect(await move({ before: received + 1 })).toMatchObject({ files: 0 })
    for (const { path } of segments.slice(3)) utimesSync(path, 1, 1)
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
      code: 'corrupt_journal',
    })
    const rest = second!.first
    const problems: string[] = []
    for await (const { code } of checkAway(dir, venue)) problems.push(code)
    expect(problems).toEqual(['object_missing'])
    expect(read(fresh(), rest)).toEqual(contents(rest, RECORDS))
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
    const found = { found: listSegments(dir, venue).length - 1, dropped: 0, skipped: 0 }
    expect(await findAway(other, objects)).toEqual(found)
    expect(await findAway(other, objects)).toEqual({ ...found, found: 0 })
    expect(read(other, 1, last)).toEqual(contents(1, last))
    const writer = openWriter(other)
    expect(writer.nextNumber).toBe(last + 1)
    writer.close()
  })

  it('is never found where this folder has the numbers itself, or is of another origin', async () => {
    const { dir, address, move } = create()
    await move()
    const objects = openObjects(address, {}, false)
    const moved = listSegments(dir, venue).length - 1
    // A backup that ends at record 500 goes on by itself, and then finds what the lost machine had.
    const restored = join(createFolder(), 'journal')
    const writer = openWriter(restored, { acknowledged: 500, segmentBytes: 20_000 })
    fill(writer, 300, 37)
    const { found, skipped } = await findAway(restored, objects)
    expect(found + skipped).toBe(moved)
    expect(listSegments(restored, venue).at(-1)!.isAway).toBe(false)
    expect(
      listSegments(restored, venue)
        .slice(0, -1)
        .every(({ isAway }) => isAway),
    ).toBe(true)
    const before = found === 0 ? [] : contents(1, listSegments(restored, venue)[1]!.first - 1)
    expect(read(restored, 1, 500).length).toBeLessThanOrEqual(before.length)
    expect(read(restored, 501, 800)).toEqual(contents(501, 800))
    // The file that grows is never moved or removed, however old it looks.
    utimesSync(listSegments(restored, venue).at(-1)!.path, 1, 1)
    expect(await move({ dir: restored })).toMatchObject({ files: 0 })
    expect(removeSegments(restored, venue, { before: LATER })?.last ?? 0).toBeLessThan(501)
    fill(writer, 100, 10)
    writer.close()
    expect(read(restored, 501, 900)).toEqual(contents(501, 900))
    const emulated = join(createFolder(), 'journal')
    const other = openWriter(emulated, { origin: 'emulator', acknowledged: 9_000_000 })
    fill(other, 3, 3)
    other.close()
    expect(await findAway(emulated, objects)).toMatchObject({ found: 0, skipped: moved })
  })

  it('stays whole where files of two recorders overlap: the later file counts', async () => {
    const { dir, move } = create()
    await move()
    const segments = listSegments(dir, venue)
    // Another recorder went on in the middle of the third file.
    const taken = segments[2]!.first + 40
    const next = join(createFolder(), 'journal')
    const writer = openWriter(next, { acknowledged: taken - 1, recorder: 'r2' })
    fill(writer, 500, 37)
    writer.close()
    cpSync(next, join(dir), { recursive: true })
    for (const { path } of segments.slice(3)) rmSync(path)
    expect(read(dir, 1, taken + 499)).toEqual(contents(1, taken + 499))
  })

  it('belongs to the folder that moved it first, also where a copy moves the same file', async () => {
    const { dir, address, move } = create()
    const copy = join(createFolder(), 'journal')
    cpSync(dir, copy, { recursive: true })
    await move()
    const objects = (): number => globSync(join(address, 'journal/v1/venueb/*.pbj')).length
    const all = objects()
    await move({ dir: copy, owner: 2 })
    removeSegments(copy, venue, { before: LATER })
    expect(await move({ dir: copy, owner: 2, now: LATER + 9 * DAY })).toMatchObject({ removed: 0 })
    expect(objects()).toBe(all)
    expect(read(dir)).toEqual(contents(1, RECORDS))
  })

  it('leaves no hole where retention removes a file while it goes, or after a kill', async () => {
    const { dir, address, move } = create()
    const segments = listSegments(dir, venue)
    const folder = openObjects(address, {})
    // Retention comes while the first file is written to the storage.
    const objects = {
      ...folder,
      address: folder.address,
      size: folder.size.bind(folder),
      read: folder.read.bind(folder),
      remove: folder.remove.bind(folder),
      put: async (name: string, bytes: Uint8Array) => {
        if (name.includes(segments[0]!.path.slice(-20, -4))) {
          removeSegments(dir, venue, { before: contentOf(segments[2]!.first + 5).received })
        }
        return folder.put(name, bytes)
      },
    }
    const { files, failures } = await move({ objects })
    expect([files, failures]).toEqual([segments.length - 3, []])
    expect(listSegments(dir, venue)[0]!.first).toBe(segments[2]!.first)
    expect(read(dir, segments[2]!.first)).toEqual(contents(segments[2]!.first, RECORDS))
    expect(globSync(join(address, `journal/v1/venueb/${'0'.repeat(15)}1-*`))).toEqual([])
    // A kill left a file beside its note, and retention removes both.
    const [third] = listSegments(dir, venue)
    const [object] = globSync(
      join(address, `journal/v1/venueb/${third!.path.slice(-21, -5)}-*.pbj`),
    )
    cpSync(object!, third!.path.replace('.away', '.pbj'))
    removeSegments(dir, venue, { before: contentOf(segments[3]!.first + 5).received })
    expect(listSegments(dir, venue)[0]!.first).toBe(segments[3]!.first)
    // A kill in the middle of that: the file is wanted, so its object stays.
    const unwanted = third!.path.replace('.away', '.unwanted')
    cpSync(unwanted, third!.path)
    await move({ now: LATER + 9 * DAY })
    expect(existsSync(unwanted)).toBe(false)
    expect(read(dir, segments[2]!.first)).toEqual(contents(segments[2]!.first, RECORDS))
  })

  it('is not looked for where retention removed it, and forgotten where it was found', async () => {
    const { dir, address, move } = create()
    await move()
    const segments = listSegments(dir, venue)
    const node = join(createFolder(), 'journal')
    const objects = openObjects(address, {}, false)
    await findAway(node, objects)
    removeSegments(dir, venue, { before: contentOf(segments[3]!.first + 5).received })
    await move({ now: Date.now() * 1000 })
    expect(await findAway(node, objects)).toEqual({ found: 0, dropped: 3, skipped: 0 })
    expect(await fetchRecord({ dir: node, venue }, 1)).toBeUndefined()
    // A damaged note is replaced by the one in the storage.
    const [first] = listSegments(node, venue)
    writeFileSync(first!.path, 'nothing')
    expect(await findAway(node, objects)).toMatchObject({ found: 1 })
    const last = listSegments(node, venue).at(-1)!
    expect(read(node, first!.first, last.first)).toHaveLength(last.first - first!.first + 1)
    // Beyond the last file nothing is asked of the storage.
    renameSync(address, `${address}.gone`)
    expect(await fetchRecord({ dir: node, venue }, 9_999_999)).toBeUndefined()
    // A damaged newest note does not give its numbers away again.
    writeFileSync(last.path, 'nothing')
    const writer = openWriter(node)
    expect(writer.nextNumber).toBeGreaterThan(1_000_000_000)
    writer.close()
  })

  it('is read whatever the cache holds, and again where what was kept is damaged', async () => {
    const { dir, data, address, move } = create()
    await move()
    const [object] = globSync(join(address, 'journal/v1/venueb/*1-*.pbj'))
    const bytes = readFileSync(object!)
    writeFileSync(object!, Buffer.from(bytes).fill(0, 200))
    await expect(fetchRecord({ dir, venue }, 5)).rejects.toMatchObject({ code: 'corrupt_journal' })
    unlinkSync(object!)
    writeFileSync(object!, bytes)
    expect((await fetchRecord({ dir, venue }, 5))?.bytes).toEqual(contentOf(5).bytes)
    // A cache of one byte keeps nothing.
    rmSync(join(data, 'cold-cache'), { recursive: true })
    const small = { dir, venue, cacheBytes: 1 } as const
    expect((await fetchRecord(small, 7))?.bytes).toEqual(contentOf(7).bytes)
  })
})
