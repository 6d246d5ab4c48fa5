import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { flagNames } from '@priorbook/sdk/domain'
import { openChunk } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import { describe, expect, it } from 'vitest'
import { readJournal, readRecord } from '@priorbook/sdk/journal'
import type { DataFolder } from '../../../lib/data-folder.ts'
import { createRandom } from '../../../lib/random.testing.ts'
import {
  bookAt,
  blindSpans,
  createCuts,
  createVenue,
  hear,
  rowTimes,
  TICKER,
  type Cut,
  type Said,
  merge,
  mergeDifferences,
} from './merge.testing.ts'
import {
  booksOf,
  createDataFolder,
  gapsOf,
  read,
  START_MS,
} from '../../../recorder/scripted.testing.ts'

const SEEDS = process.env['PRIORBOOK_FULL'] === '1' ? 200 : 8
const platform = createNodePlatform()
const REF = { venue: 'venueb', key: TICKER } as const

/** Nothing is wrong with a merged folder: its tape, its journal, and the way from one to the other. */
async function expectSound(data: DataFolder): Promise<void> {
  expect(readdirSync(dirname(data.path)).filter((name) => name.includes('data.'))).toEqual([])
  const report = await read(data, (store) => store.verify())
  expect(report.problems).toEqual([])
  for (const venue of ['venueb', 'venuec'] as const) {
    const items = [...readJournal({ dir: data.journal, venue })]
    expect(items.filter(({ kind }) => kind === 'damage')).toEqual([])
    const last = items.at(-1)
    const applied = await read(data, (store) => store.appliedPosition(venue))
    expect(last?.kind === 'block' ? last.first + last.count - 1 : 0).toBe(applied)
  }
}

/** Each row of an instrument with the raw record that it names, and whose it is by its chunk. */
async function provenanceOf(data: DataFolder) {
  return read(data, async (store) => {
    const { lastSequence } = (await store.instrument(REF))!
    const recorders = Array.from({ length: lastSequence + 1 }, () => '')
    for await (const { kind, first, count, bytes } of store.chunks(REF)) {
      const { recorder } = openChunk(bytes, platform).header
      if (kind === 'book') recorders.fill(recorder, first, first + count)
    }
    const { runs } = await store.books({ ...REF, order: 'asc', limit: 100_000, numbers: true })
    return runs.flatMap(({ columns, from, to, firstSequence }) =>
      Array.from({ length: to - from }, (_, index) => {
        const row = from + index
        const journal = { dir: data.journal, venue: 'venueb' as const }
        return {
          received: columns.received[row]!,
          flags: flagNames(columns.flags[row]!),
          recorder: recorders[firstSequence + row],
          record: readRecord(journal, columns.journal[row]!),
          connection: readRecord(journal, Math.floor(columns.channel[row]! / 65_536)),
        }
      }),
    )
  })
}

function isInside(spans: readonly [number, number][], at: number): boolean {
  return spans.some(([start, end]) => start < at && at < end)
}

function common(spans: readonly (readonly [number, number][])[]): [number, number][] {
  return spans.reduce<[number, number][]>(
    (left, right) =>
      left.flatMap(([a, b]) =>
        right
          .map(([c, d]): [number, number] => [Math.max(a, c), Math.min(b, d)])
          .filter(([start, end]) => start < end),
      ),
    [[-Infinity, Infinity]],
  )
}

describe('recorders that are cut at random', () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    it(`give the truth together wherever one of them was good (seed ${seed})`, async () => {
      const random = createRandom(seed)
      const said = createVenue(random, 60)
      const end = said.at(-1)!.at
      // Named against the order of their ids.
      const names = seed % 3 === 0 ? ['c', 'b', 'a'] : ['b', 'a']
      const recorders = names.map((name) => ({
        name,
        data: createDataFolder(),
        cuts: createCuts(random, end),
      }))
      for (const { name, data, cuts } of recorders) await hear(data, name, said, cuts)
      const target = createDataFolder()
      const report = await merge(target, ...recorders.map(({ data }) => data))
      expect(report.recorders.map(({ ids }) => ids)).toEqual(
        names.map((name) => [name]).toReversed(),
      )
      await expectSound(target)
      const ranked = recorders.toReversed()
      await expectTruth(
        target,
        said,
        ranked.map(({ cuts }) => cuts),
      )
      const rows = await provenanceOf(target)
      for (const { received, recorder, record: raw, connection } of rows) {
        expect([raw?.received, raw?.recorder]).toEqual([received, recorder])
        expect(connection?.recorder).toBe(recorder)
      }
      const others = rows.filter((row, at) => row.recorder !== rows[at - 1]?.recorder)
      expect(others.length).toBeGreaterThan(2)
      expect(others.filter(({ flags }) => !flags.includes('restart'))).toEqual([])
      // Again and in another order: the same to the byte.
      const again = createDataFolder()
      await merge(again, ...ranked.map(({ data }) => data))
      expect(await mergeDifferences(target, again)).toEqual([])
      await merge(again, ...recorders.map(({ data }) => data))
      expect(await mergeDifferences(target, again)).toEqual([])
    })
  }
})

async function expectTruth(
  target: DataFolder,
  said: readonly Said[],
  ranked: readonly (readonly Cut[])[],
): Promise<void> {
  const blind = ranked.map((cuts) => blindSpans(said, cuts))
  const times = ranked.flatMap((cuts, rank) =>
    rowTimes(said, cuts).filter((at) => blind.slice(0, rank).every((spans) => isInside(spans, at))),
  )
  const rows = times.sort((a, b) => a - b).map((at) => `${at}: ${bookAt(said, at)}`)
  expect(await booksOf(target, 'venueb', TICKER)).toEqual(rows)
  const left = common(blind)
  const gaps = await gapsOf(target, 'venueb', TICKER)
  expect(gaps.map((gap) => gap.split(' ')[1])).toEqual(
    left.map(([start, until]) => `${start}–${until === Infinity ? '' : until}`),
  )
  await read(target, async (store) => {
    const stored = await store.gaps(REF)
    for (const { start, afterSequence } of stored) {
      const before = times.filter((at) => at <= (start - START_MS * 1000) / 1000)
      expect(afterSequence).toBe(before.length)
    }
    for (let at = 0.25; at < said.at(-1)!.at; at += 25) {
      const found = await store.asOf({ ...REF, at: (START_MS + at) * 1000 })
      expect([at, found.gap !== undefined]).toEqual([at, isInside(left, at)])
    }
  })
}
