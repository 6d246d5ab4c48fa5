import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { gapId, type Gap } from '@priorbook/sdk/domain'
import type { TradeColumns } from '@priorbook/sdk/tape'
import {
  BookLane,
  GapQueue,
  isOnPage,
  Merge,
  RowLane,
  shiftRows,
  shiftRuns,
  touchesSpan,
  type LaneQuery,
  type RunPart,
} from './index.ts'
import { createGap, createModelStore, type ModelStreams } from './rows.testing.ts'

const KEYS = ['up', 'down', 'draw'] as const

/** A few streams with many equal times. */
const streamsOf = fc
  .tuple(
    ...KEYS.map(() => fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 0, maxLength: 30 })),
  )
  .map((lists) => {
    const entries = KEYS.map(
      (key, index) => [key, lists[index]!.toSorted((a, b) => a - b)] as const,
    )
    return Object.fromEntries(entries)
  })

type Row = { readonly key: string; readonly received: number; readonly number: number }

function expectedRows(streams: ModelStreams, order: 'asc' | 'desc', start = 0, end = 99): Row[] {
  const rows = KEYS.flatMap((key) =>
    (streams[key] ?? []).map((received, index) => ({ key, received, number: index + 1 })),
  ).filter(({ received }) => received >= start && received < end)
  rows.sort(
    (a, b) =>
      a.received - b.received || a.number - b.number || KEYS.indexOf(a.key) - KEYS.indexOf(b.key),
  )
  return order === 'asc' ? rows : rows.reverse()
}

function rowsOf(parts: readonly RunPart[], order: 'asc' | 'desc'): Row[] {
  return parts.flatMap(({ columns, firstSequence, from, to, lane }) => {
    const rows: Row[] = []
    for (let row = from; row < to; row++) {
      const received = columns.received[row]!
      rows.push({ key: KEYS[lane]!, received, number: firstSequence + row })
    }
    return order === 'asc' ? rows : rows.reverse()
  })
}

const queryOf = (key: string, more: Partial<LaneQuery>): LaneQuery => ({
  venue: 'venuec',
  key,
  order: 'asc',
  pageRows: 4,
  ...more,
})

describe('merged lanes', () => {
  it('give every row once, by received time, sequence and lane, whatever the pages', async () => {
    await fc.assert(
      fc.asyncProperty(
        streamsOf,
        fc.constantFrom('asc' as const, 'desc' as const),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 0, max: 30 }),
        async (streams, order, pageRows, most, start) => {
          const store = createModelStore(streams)
          const expected = expectedRows(streams, order, start, 35)
          const found: Row[] = []
          let positions: (number | undefined)[] = KEYS.map(() => undefined)
          // Each page begins with new lanes at the positions of the page before.
          for (let hasMore = true; hasMore;) {
            const lanes = KEYS.map((key, lane) => {
              const more = { order, pageRows, start, end: 35, after: positions[lane] }
              return new BookLane(store, queryOf(key, more), { lane })
            })
            found.push(...rowsOf(await shiftRuns(new Merge(lanes), most), order))
            positions = lanes.map(({ position }) => position)
            hasMore = lanes.some(({ isDone }) => !isDone)
          }
          expect(found).toEqual(expected)
        },
      ),
      { numRuns: 300, seed: 7 },
    )
  })

  it('give trades in the same order, up to the last one of the walk', async () => {
    await fc.assert(
      fc.asyncProperty(
        streamsOf,
        fc.constantFrom('asc' as const, 'desc' as const),
        fc.integer({ min: 0, max: 20 }),
        async (streams, order, last) => {
          const store = createModelStore(streams)
          const lanes = KEYS.map(
            (key, lane) =>
              new RowLane<TradeColumns>(
                (query) => store.trades(query),
                queryOf(key, { order, last }),
                { lane },
              ),
          )
          const rows = await shiftRows(new Merge(lanes), Infinity)
          const expected = expectedRows(streams, order).filter(({ number }) => number <= last)
          expect(
            rows.map(({ columns, row, ordinal, lane }) => ({
              key: KEYS[lane],
              received: columns.received[row],
              number: ordinal,
            })),
          ).toEqual(expected)
        },
      ),
      { numRuns: 200, seed: 8 },
    )
  })

  it('leave a lane unread until its first row can be due', async () => {
    const store = createModelStore({ up: [1, 2, 3], down: [30] })
    const lanes = [
      new BookLane(store, queryOf('up', {}), { lane: 0, notBefore: 1 }),
      new BookLane(store, queryOf('down', {}), { lane: 1, notBefore: 30 }),
    ]
    const merge = new Merge(lanes)
    await shiftRuns(merge, 3)
    expect(store.reads).toEqual(['up'])
    await shiftRuns(merge, 3)
    expect(store.reads).toEqual(['up', 'down'])
  })

  it('report how many rows they hold', async () => {
    const store = createModelStore({ up: [1, 2, 3, 4, 5, 6, 7] })
    let held = 0
    const onHeld = (rows: number): void => void (held += rows)
    const lane = new BookLane(store, queryOf('up', { pageRows: 6 }), { onHeld })
    await lane.load()
    expect(held).toBe(6)
    lane.shiftBefore(undefined, 2)
    expect(held).toBe(4)
    lane.close()
    expect([held, lane.isDone]).toEqual([0, true])
  })

  it('notify of damage once for each read that met it', async () => {
    const damage: Gap[] = []
    const gap = createGap('up', 2, 2)
    const store = createModelStore({ up: [1, 2] }, { up: [gap] })
    const lane = new BookLane(store, queryOf('up', {}), {
      onDamage: (gaps) => damage.push(...gaps),
    })
    await lane.load()
    expect(damage).toEqual([gap])
  })
})

describe('a queue of gaps', () => {
  it('places each gap once, before the first row after it', async () => {
    const store = createModelStore({ up: [1, 5, 5, 5, 9] })
    const gaps = [createGap('up', 5, 3), createGap('up', 20, 5), createGap('up', 5, 3)]
    const queue = new GapQueue(gaps)
    const parts = await shiftRuns(
      new Merge([new BookLane(store, queryOf('up', { pageRows: 9 }))]),
      Infinity,
    )
    const items: (number | string)[] = []
    for (const part of parts) {
      for (const item of queue.cut(part, 'up')) {
        if ('scope' in item) items.push(item.reason)
        else items.push(...rowsOf([item], 'asc').map(({ number }) => number))
      }
    }
    expect(items).toEqual([1, 2, 3, 'disconnected', 4, 5])
    expect(queue.shift()).toBe(gaps[1])
    expect(queue.shift()).toBeUndefined()
  })

  it('lets the time alone decide for rows of other streams', () => {
    const queue = new GapQueue([createGap('up', 5, 3)])
    expect(queue.isBefore(5, 'down', 9)).toBe(false)
    expect(queue.isBefore(6, 'down', 1)).toBe(true)
  })
})

describe('a gap of a walk', () => {
  it('stands on exactly one page, by time and by sequence, in both orders', () => {
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(cuts, fc.integer({ min: 0, max: 31 }), fc.boolean(), (edges, place, isDown) => {
        const ends = edges.toSorted((a, b) => (isDown ? b - a : a - b))
        const pages = ends.map((reached, index) => {
          const hasMore = index < ends.length - 1
          return { isDown, hasMore, passed: ends[index - 1], reached }
        })
        const gap = createGap('up', place, place)
        const byTime = pages.filter((page) => isOnPage(gap, page))
        const bySequence = pages.filter((page) =>
          isOnPage(gap, {
            isDown,
            hasMore: page.hasMore,
            positionsOf: () => ({ ...page, last: 99 }),
          }),
        )
        expect([byTime.length, bySequence.length]).toEqual([1, 1])
      }),
      { numRuns: 500, seed: 9 },
    )
  })

  it('touches a span that it begins in, ends in or surrounds', () => {
    const span = { start: 10, end: 20 }
    const touches = (start: number, end?: number): boolean => touchesSpan({ start, end }, span)
    expect([touches(5, 10), touches(5, 11), touches(20, 30), touches(1)]).toEqual([
      false,
      true,
      false,
      true,
    ])
    expect([touches(10, 10), touches(9, 9)]).toEqual([true, false])
  })

  it('keeps its identity when it closes', () => {
    const { end: _end, ...open } = createGap('up', 5, 3)
    expect(gapId(open)).toBe(gapId(createGap('up', 5, 3)))
    expect(gapId({ ...open, key: 'down' })).not.toBe(gapId(open))
  })
})
