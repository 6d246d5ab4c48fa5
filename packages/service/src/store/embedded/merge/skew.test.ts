import { FLAGS, flagNames } from '@priorbook/sdk/domain'
import { describe, expect, it } from 'vitest'
import type { DataFolder } from '../../../lib/data-folder.ts'
import { createRandom } from '../../../lib/random.testing.ts'
import { merge } from './merge.testing.ts'
import {
  booksOf,
  createDataFolder,
  gapsOf,
  read,
  record,
  START_MS,
} from '../../../recorder/scripted.testing.ts'

const SEEDS = process.env['PRIORBOOK_FULL'] === '1' ? 200 : 8
const CONDITION = `0x${'ab'.repeat(32)}`
const UP = `1${'0'.repeat(75)}1`
const REF = { venue: 'venuec', key: UP } as const

/** What reached a recorder: at `at`, the state of the venue at its own time `source`, in ms after the start. */
type Arrived = {
  readonly at: number
  readonly source: number
  readonly kind: 'change' | 'full' | 'loss'
}

// The venue's book at its time: the best bid has one level of the size of the time.
const sizeAt = (source: number): string => String(source + 1)

/** Lets a recorder of venue C hear what reached it. */
async function hear(data: DataFolder, recorder: string, all: readonly Arrived[]): Promise<void> {
  await record(
    data,
    'venuec',
    (script) => {
      let now = 0
      script.note({ note: 'connected', slot: 1, url: 'ws://c' })
      for (const { at, source, kind } of all) {
        script.wait(at - now)
        now = at
        if (kind === 'loss') {
          script.note({ note: 'loss', reason: 'disconnected', why: 'cut', slot: 1 })
          script.note({ note: 'connected', slot: 1, url: 'ws://c' })
          continue
        }
        const level = { price: '0.40', size: sizeAt(source) }
        const asset = { asset_id: UP, market: CONDITION, timestamp: String(START_MS + source) }
        const best = { best_bid: '0.4', best_ask: '0.6' }
        script.frame(
          1,
          kind === 'full'
            ? {
                ...asset,
                event_type: 'book',
                hash: 'a'.repeat(40),
                bids: [level],
                asks: [{ price: '0.60', size: '1' }],
              }
            : {
                event_type: 'price_change',
                market: CONDITION,
                timestamp: asset.timestamp,
                price_changes: [{ asset_id: UP, ...level, side: 'BUY', hash: 'b', ...best }],
              },
        )
      }
    },
    { recorder },
  )
}

/** When the venue spoke, in even ms; its full books on request have odd ones. */
function createSources(random: () => number): number[] {
  const sources = [0]
  for (let index = 0; index < 80; index++) {
    sources.push(sources.at(-1)! + 2 + 2 * Math.floor(random() * 50))
  }
  return sources
}

/** A way from the venue with a delay of its own that changes all the time, and cuts. */
function createWay(random: () => number, sources: readonly number[]) {
  const arrived: Arrived[] = []
  const blind: [number, number][] = []
  let at = 0
  let cutUntil = -1
  const arrive = (source: number, kind: Arrived['kind']): void => {
    at = Math.max(at + 0.001, source + 1 + Math.floor(random() * 60))
    arrived.push({ at, source, kind })
  }
  for (const [index, source] of sources.entries()) {
    if (source <= cutUntil) continue
    if (cutUntil >= 0) {
      const last = at
      at = Math.max(at + 0.001, cutUntil)
      arrived.push({ at, source: cutUntil, kind: 'loss' })
      arrive(cutUntil, 'full')
      blind.push([last, at])
      cutUntil = -1
    }
    arrive(source, index === 0 ? 'full' : 'change')
    if (random() < 0.15) cutUntil = source + 1 + 2 * Math.floor(random() * 300)
  }
  blind.push([at, Infinity])
  return { arrived, blind }
}

const isBlind = (spans: readonly [number, number][], at: number): boolean =>
  spans.some(([start, end]) => start < at && at < end)

describe('recorders that hear the venue at different times', () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    it(`never give a message twice and never go back (seed ${seed})`, async () => {
      const random = createRandom(seed)
      const sources = createSources(random)
      const ways = ['a', 'b'].map(() => createWay(random, sources))
      const folders = [createDataFolder(), createDataFolder()]
      await hear(folders[0]!, 'a', ways[0]!.arrived)
      await hear(folders[1]!, 'b', ways[1]!.arrived)
      const target = createDataFolder()
      await merge(target, folders[1]!, folders[0]!)
      await read(target, async (store) => {
        expect((await store.verify()).problems).toEqual([])
        const { runs } = await store.books({ ...REF, order: 'asc', limit: 10_000 })
        const rows = runs.flatMap(({ columns, from, to }) =>
          Array.from({ length: to - from }, (_, at) => ({
            source: columns.source[from + at]!,
            isAfterGap: (columns.flags[from + at]! & FLAGS.after_gap) !== 0,
          })),
        )
        // Behind a gap that is left, the book may be the one before it.
        const back = rows.filter(
          ({ source, isAfterGap }, at) => !isAfterGap && source <= (rows[at - 1]?.source ?? 0),
        )
        expect(back).toEqual([])
        const given = rows.map(({ source }) => source)
        const books = await booksOf(target, 'venuec', UP)
        expect(books.map((book) => book.split(': ')[1])).toEqual(
          given.map((source) => `0.4×${sizeAt(source / 1000 - START_MS)} | 0.6×1`),
        )
        const first = Math.max(ways[0]!.arrived[0]!.at, ways[1]!.arrived[0]!.at)
        for (let at = Math.ceil(first) + 0.5; at < sources.at(-1)!; at += 7) {
          const seen = ways.find(({ blind }) => !isBlind(blind, at))
          const { run, gap } = await store.asOf({ ...REF, at: (START_MS + at) * 1000 })
          expect([at, gap === undefined]).toEqual([at, seen !== undefined])
          if (seen === undefined) continue
          const newest = seen.arrived.findLast((one) => one.at <= at && one.kind !== 'loss')!
          const source = run!.columns.source[run!.from]! / 1000 - START_MS
          expect(source).toBeGreaterThanOrEqual(newest.source)
        }
      })
    })
  }

  it('takes the book of one that is ahead at once', async () => {
    const [slow, fast, target] = [createDataFolder(), createDataFolder(), createDataFolder()]
    await hear(slow, 'a', [
      { at: 1, source: 0, kind: 'full' },
      { at: 30, source: 10, kind: 'change' },
      { at: 35, source: 11, kind: 'loss' },
      { at: 900, source: 800, kind: 'full' },
    ])
    await hear(fast, 'b', [
      { at: 2, source: 0, kind: 'full' },
      { at: 11, source: 10, kind: 'change' },
      { at: 13, source: 12, kind: 'change' },
      { at: 950, source: 940, kind: 'change' },
    ])
    await merge(target, slow, fast)
    // It was received before what is stored already: the clock of the merged tape does not go back.
    expect(await booksOf(target, 'venuec', UP)).toEqual([
      '1: 0.4×1 | 0.6×1',
      '30: 0.4×11 | 0.6×1',
      '30.001: 0.4×13 | 0.6×1',
      '900: 0.4×801 | 0.6×1',
      '950: 0.4×941 | 0.6×1',
    ])
    const flags = await read(target, async (store) => {
      const { runs } = await store.books({ ...REF, order: 'asc', limit: 10 })
      return runs.flatMap(({ columns, from, to }) => [...columns.flags.subarray(from, to)])
    })
    expect(flags.map(flagNames)).toEqual([
      ['full_book', 'restart'],
      [],
      ['clock_step', 'restart'],
      ['full_book', 'restart'],
      ['restart'],
    ])
  })

  it('leaves out what one that is behind brings again', async () => {
    const [first, late, target] = [createDataFolder(), createDataFolder(), createDataFolder()]
    await hear(first, 'a', [
      { at: 1, source: 0, kind: 'full' },
      { at: 11, source: 10, kind: 'change' },
      { at: 13, source: 12, kind: 'change' },
      { at: 14, source: 13, kind: 'loss' },
      { at: 200, source: 199, kind: 'full' },
    ])
    await hear(late, 'b', [
      { at: 10, source: 0, kind: 'full' },
      { at: 20, source: 10, kind: 'change' },
      { at: 22, source: 12, kind: 'change' },
      { at: 30, source: 20, kind: 'change' },
      { at: 209, source: 199, kind: 'change' },
      { at: 210, source: 199, kind: 'full' },
    ])
    const report = await merge(target, first, late)
    expect(await booksOf(target, 'venuec', UP)).toEqual([
      '1: 0.4×1 | 0.6×1',
      '11: 0.4×11 | 0.6×1',
      '13: 0.4×13 | 0.6×1',
      '30: 0.4×21 | 0.6×1',
      '200: 0.4×200 | 0.6×1',
    ])
    expect(report.books).toMatchObject({ observations: 5, filled: 1, repeated: 4 })
    expect(await gapsOf(target, 'venuec', UP)).toEqual(['recorder_down 210–'])
  })
})
