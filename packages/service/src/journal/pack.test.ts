import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { toMicros } from '@priorbook/sdk/domain'
import { listSegments } from '@priorbook/sdk/journal/format'
import { describe, expect, test } from 'vitest'
import { isFullRun } from '../../../sdk/src/domain/run-counts.testing.ts'
import { createRandom } from '../lib/random.testing.ts'
import { packJournal, readRecord, removeSegments, SegmentSizes, unpackJournal } from './index.ts'
import { createFolder, fill, openWriter, readAll } from './journal-folder.testing.ts'

const START = 1_786_410_975_904_000

// Messages of a venue with notes and large ones among them.
function fillMessages(dir: string, count: number, segmentBytes: number): void {
  const writer = openWriter(dir, { segmentBytes })
  const random = createRandom(5)
  for (let at = 0; at < count; at++) {
    const received = toMicros(START + at * 800 - Math.floor(random() * 500))
    const levels = Array.from({ length: 40 }, () => [random().toFixed(2), random().toFixed(4)])
    const text =
      at % 97 === 0
        ? JSON.stringify({ type: 'orderbook_snapshot', seq: at, levels })
        : `{"type":"orderbook_delta","sid":1,"seq":${at},"msg":{"ticker":"KX-${at % 4}","price":"0.${10 + (at % 80)}","delta":"${(random() * 100 - 50).toFixed(2)}","ts_ms":${Math.floor(received / 1000) - 9}}}`
    if (at % 50 === 0) writer.append(received, 'note', Buffer.from('{"note":"walked"}'))
    writer.append(received, 'message', Buffer.from(text), 1 + (at % 2))
    if (at % 10 === 0) writer.commit()
  }
  writer.commit()
  writer.close()
}

const filesOf = (dir: string): string[] => readdirSync(join(dir, 'venueb')).sort()
const bytesOf = (dir: string): number =>
  filesOf(dir).reduce((sum, name) => sum + statSync(join(dir, 'venueb', name)).size, 0)

describe('packing', () => {
  test('keeps every record of finished files in a fraction of the space, and leaves the newest', async () => {
    const dir = createFolder()
    fillMessages(dir, 20_000, 100_000)
    const before = readAll(dir)
    const newest = filesOf(dir).at(-1)!
    const newestBytes = readFileSync(join(dir, 'venueb', newest))
    const [oldest] = filesOf(dir)
    const { mtimeMs } = statSync(join(dir, 'venueb', oldest!))
    const size = bytesOf(dir)
    const report = await packJournal({ dir, venue: 'venueb' })
    expect(report.files).toBe(filesOf(dir).length - 1)
    expect(report.files).toBeGreaterThan(2)
    expect(report.damaged).toEqual([])
    expect(report.before - report.after).toBe(size - bytesOf(dir))
    expect(report.after * 2).toBeLessThan(report.before)
    expect(readAll(dir)).toEqual(before)
    expect(readFileSync(join(dir, 'venueb', newest)).equals(newestBytes)).toBe(true)
    expect(statSync(join(dir, 'venueb', oldest!)).mtimeMs).toBeCloseTo(mtimeMs, 0)
    for (const { number, bytes, received } of [1, 777, 5000].map((at) => before.records[at]!)) {
      expect(readRecord({ dir, venue: 'venueb' }, number)).toMatchObject({ bytes, received })
    }
    // A second pass has nothing to do.
    expect(await packJournal({ dir, venue: 'venueb' })).toMatchObject({ files: 0, damaged: [] })
    // Writing goes on.
    fill(openWriter(dir), 3, 1)
    expect(readAll(dir).records.length).toBe(before.records.length + 3)
  })

  test('can be undone', async () => {
    const dir = createFolder()
    fillMessages(dir, 5000, 50_000)
    const before = readAll(dir)
    await packJournal({ dir, venue: 'venueb' })
    const report = await unpackJournal({ dir, venue: 'venueb' })
    expect(report.after).toBeGreaterThan(report.before)
    expect(readAll(dir)).toEqual(before)
  })

  test('takes any bytes', async () => {
    const dir = createFolder()
    fill(openWriter(dir, { segmentBytes: 20_000 }), 3000, 7)
    const before = readAll(dir)
    const { files } = await packJournal({ dir, venue: 'venueb' })
    expect(files).toBeGreaterThan(2)
    expect(readAll(dir)).toEqual(before)
  })

  test('leaves a file with damage as it is, and packs the others', async () => {
    const dir = createFolder()
    fillMessages(dir, 8000, 50_000)
    const [, second] = filesOf(dir)
    const path = join(dir, 'venueb', second!)
    const bytes = readFileSync(path)
    bytes[2000]! ^= 1
    writeFileSync(path, bytes)
    const before = readAll(dir)
    expect(before.damages).toHaveLength(1)
    const report = await packJournal({ dir, venue: 'venueb' })
    expect(report.damaged).toEqual([path])
    expect(report.files).toBe(filesOf(dir).length - 2)
    expect(readFileSync(path).equals(bytes)).toBe(true)
    const after = readAll(dir)
    expect(after.records).toEqual(before.records)
    expect(after.damages).toEqual(before.damages)
  })

  test('is known to retention by bytes', async () => {
    const dir = createFolder()
    fillMessages(dir, 8000, 50_000)
    const sizes = new SegmentSizes()
    const all = sizes.list(dir, 'venueb').length
    await packJournal({ dir, venue: 'venueb' })
    const limit = bytesOf(dir)
    expect(removeSegments(dir, 'venueb', { bytes: limit }, sizes)).toBeUndefined()
    expect(sizes.list(dir, 'venueb')).toHaveLength(all)
  })
})

const CHILD = `
import { packJournal } from '${new URL('index.ts', import.meta.url).href}'
const dir = process.argv[1]
process.stdout.write('.')
for (;;) if ((await packJournal({ dir, venue: 'venueb' })).files === 0) break
`
// Everything about every record, and every damage.
const digestOf = ({ records, damages }: ReturnType<typeof readAll>): string => {
  const hash = createHash('sha256').update(JSON.stringify(damages))
  for (const { bytes, ...rest } of records) hash.update(JSON.stringify(rest)).update(bytes)
  return hash.digest('hex')
}
const KILLS = isFullRun ? 200 : 12
// A round ends by itself where the machine is faster than the kill.
const MAX_ROUNDS = KILLS * 6

/** Waits until a file is being packed, or the packer has ended. */
async function untilPacking(dir: string, ended: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  void ended.then(() => over.abort())
  const isPacking = (): boolean => filesOf(dir).some((name) => name.endsWith('.packing'))
  while (!isPacking() && !over.signal.aborted) await pause(1)
}

test('a kill at any moment loses nothing and doubles nothing', { timeout: 900_000 }, async () => {
  const dir = createFolder()
  fillMessages(dir, 30_000, 20_000)
  const before = readAll(dir)
  const contents = new Set([digestOf(before)])
  const random = createRandom(3)
  let kills = 0
  let halfPacked = 0
  for (let round = 0; kills < KILLS && round < MAX_ROUNDS; round++) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', CHILD, dir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = new Promise<NodeJS.Signals | null>((done) =>
      child.once('exit', (_, signal) => done(signal)),
    )
    await new Promise((done) => child.stdout.once('data', done))
    // Every other one while a file is half written, which no pause is sure to meet.
    const moment = kills % 2 === 0 ? pause(random() * 120) : untilPacking(dir, ended)
    await Promise.race([ended, moment])
    child.kill('SIGKILL')
    if ((await ended) === 'SIGKILL') {
      kills++
      if (filesOf(dir).some((name) => name.endsWith('.packing'))) halfPacked++
      contents.add(digestOf(readAll(dir)))
    } else {
      // Everything is packed: the next ones begin again.
      await unpackJournal({ dir, venue: 'venueb' })
    }
  }
  console.log(
    `${kills} kills, ${halfPacked} of them with a file half written: every record is there once`,
  )
  expect(kills).toBeGreaterThan(KILLS / 2)
  expect(halfPacked).toBeGreaterThan(0)
  // What was there before the first kill was there after each.
  expect(contents.size).toBe(1)
  await packJournal({ dir, venue: 'venueb' })
  expect(readAll(dir)).toEqual(before)
  // Nothing is left of the killed ones.
  const names = listSegments(dir, 'venueb').map(({ path }) => path)
  expect(filesOf(dir).map((name) => join(dir, 'venueb', name))).toEqual(names)
  expect(names.every((path) => existsSync(path))).toBe(true)
})
