import { startOfDay } from '@priorbook/sdk/domain'
import { globSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { after, MarketWriter, roundOfB } from '../api/contracts/contract-tape.testing.ts'
import { openFolderObjects } from '../objects/folder-objects.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { createTempFolder } from '../store/embedded/temp-folder.testing.ts'
import type { LakeManifest } from './lake-manifest.ts'
import { dayText } from './write-day.ts'
import { writeLake } from './write-lake.ts'

const DAY = 86_400

it('keeps the rows of a market that retention removed with its gaps, also with a rewrite', async () => {
  const folder = createTempFolder()
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  onTestFinished(() => store.close())
  const lake = join(folder, 'lake')
  const write = async (isRewritten: boolean): Promise<LakeManifest[]> => {
    const manifests: LakeManifest[] = []
    await writeLake({
      store,
      objects: openFolderObjects(lake),
      now: after(30 * DAY),
      venue: 'venueb',
      isRewritten,
      partRows: 1000,
      withTables: false,
      reached: () => Promise.resolve(after(30 * DAY)),
      check: () => undefined,
      onDay: (manifest) => void manifests.push(manifest),
    })
    return manifests.filter(({ dataset, rows }) => dataset === 'books' && rows > 0)
  }
  let journal = 0
  const record = async (marketId: string, days: readonly number[]): Promise<void> => {
    const times = { openTime: after(0), closeTime: after(days.at(-1)! * DAY + 900) }
    const made = { ...roundOfB(times), marketId, status: 'resolved' } as const
    const market = new MarketWriter(store, made, journal)
    await market.record(made, 0)
    for (const day of days) await market.book(day * DAY + 10, [['0.4', '10']], [['0.6', '10']])
    journal += 10
    // The newest chunk of a book goes only once its market is closed.
    const { venue, key } = market.instrument
    const start = times.closeTime
    const gap = { venue, scope: 'instrument', key, reason: 'market_closed', start } as const
    const maker = { origin: 'emulator', recorder: 'r1', normalizer: 1 } as const
    const gaps = [{ ...gap, afterSequence: 1, journal }]
    await store.append({ venue, position: journal, ...maker, gaps })
  }
  await record('GONE', [0])
  // Its rows of the same day stay, and so does the newest market.
  await record('STAYS', [0, 20])
  await store.seal()
  const first = await write(false)
  expect(first.map(({ rows }) => rows)).toEqual([2, 1])
  const files = globSync('venue=venueb/dataset=books/**/*.parquet', { cwd: lake }).sort()
  const before = after(10 * DAY)
  const order = { venue: 'venueb', before, after: 0 } as const
  expect((await store.removeSome('tape', order)).rows).toBe(1)
  await store.seal()
  expect((await store.removeSome('markets', { ...order, before: after(15 * DAY) })).rows).toBe(1)
  expect((await store.gaps({})).filter(({ reason }) => reason === 'retention')).toEqual([])
  const again = await write(true)
  expect(again.map(({ rows }) => rows)).toEqual([2, 1])
  expect(globSync('venue=venueb/dataset=books/**/*.parquet', { cwd: lake }).sort()).toEqual(files)
  // A day of which a file is missing is looked at again too.
  rmSync(join(lake, files[1]!))
  await write(false)
  expect(globSync('venue=venueb/dataset=books/**/*.parquet', { cwd: lake }).sort()).toEqual(files)
})

it('says which days wait where the recorder has yet to say what it missed', async () => {
  const folder = createTempFolder()
  const store = openEmbeddedStore({ file: join(folder, 'tape.db') })
  onTestFinished(() => store.close())
  const market = roundOfB({ openTime: after(0), closeTime: after(20 * DAY) })
  const writer = new MarketWriter(store, market, 0)
  await writer.record(market, 0)
  for (const day of [0, 1]) await writer.book(day * DAY, [['0.4', '10']], [['0.6', '10']])
  const run = async (reached: number, day?: number): Promise<unknown> => {
    const waiting: unknown[] = []
    const report = await writeLake({
      store,
      objects: openFolderObjects(join(folder, 'lake')),
      now: after(3 * DAY),
      day,
      isRewritten: false,
      partRows: 1000,
      withTables: false,
      reached: () => Promise.resolve(reached),
      check: () => undefined,
      onDay: () => undefined,
      onWait: (...wait) => void waiting.push(wait),
    })
    expect(report.waiting).toBe(waiting.length)
    return waiting
  }
  const days = [0, 1, 2].map((day) => dayText(startOfDay(after(day * DAY))))
  expect(await run(0)).toEqual([['venueb', days[0], 0]])
  expect(await run(after(DAY))).toEqual([['venueb', days[1], after(DAY)]])
  expect(await run(after(DAY), startOfDay(after(0)))).toEqual([])
  expect(await run(after(3 * DAY))).toEqual([])
  expect(await run(Infinity)).toEqual([])
})
