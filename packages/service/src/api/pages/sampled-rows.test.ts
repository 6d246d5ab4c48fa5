import { toMicros, type Gap } from '@priorbook/sdk/domain'
import { ABSENT, SampleColumns } from '@priorbook/sdk/tape'
import { describe, expect, it } from 'vitest'
import type { ReadRows } from '../../rows/index.ts'
import type { RowQuery } from '../../store/store.ts'
import { lastOfBuckets } from './sampled-rows.ts'

const REF = { venue: 'venuec', key: 'reference/exchange/BTC' } as const

/** A source of rows at some times, which counts how often it is read. */
function sourceOf(
  times: readonly number[],
  damage: (query: RowQuery) => readonly Gap[] = () => [],
) {
  const counts = { reads: 0 }
  const read: ReadRows<SampleColumns> = async (query) => {
    counts.reads++
    const { start = 0, end = Infinity, after, order, limit } = query
    const inside = times.flatMap((time, index) => {
      const isPassed =
        after !== undefined && (order === 'asc' ? index + 1 <= after : index + 1 >= after)
      return time >= start && time < end && !isPassed ? [index] : []
    })
    const taken = order === 'asc' ? inside.slice(0, limit) : inside.slice(-limit)
    const rows = new SampleColumns()
    for (const index of taken) {
      const head = { source: ABSENT, venueSeq: ABSENT, channel: ABSENT, flags: 0 }
      rows.pushHead({ ...head, received: times[index]!, journal: index + 1 })
      rows.value.push(index)
      rows.fine.push(0)
    }
    const ordinals = taken.map((index) => index + 1)
    return { rows, ordinals, hasMore: inside.length > taken.length, corrupt: damage(query) }
  }
  return { read, counts }
}

/** The last row of each bucket, by definition. */
function expectedOf(times: readonly number[], interval: number): number[] {
  const last = new Map<number, number>()
  for (const [index, time] of times.entries()) last.set(Math.floor(time / interval), index + 1)
  return [...last.values()]
}

async function walk(read: ReadRows<SampleColumns>, order: 'asc' | 'desc', limit: number) {
  const all: number[] = []
  let after: number | undefined
  for (;;) {
    const page = await read({ ...REF, order, limit, after })
    const own = order === 'asc' ? page.ordinals : page.ordinals.toReversed()
    all.push(...own)
    after = own.at(-1)
    if (!page.hasMore) return all
  }
}

describe('the last rows of buckets', () => {
  const dense = Array.from({ length: 5000 }, (_, index) => index * 3)
  const uneven = dense.filter((time) => time % 1000 < 30 || time > 9000)

  it.each([
    ['dense', dense],
    ['uneven', uneven],
    ['none', []],
  ])('are those of every bucket, in pages of any size and order: %s', async (_name, times) => {
    for (const interval of [1, 10, 100, 1000, 100_000]) {
      const expected = expectedOf(times, interval)
      for (const limit of [1000, 7000]) {
        const read = lastOfBuckets(sourceOf(times).read, interval, () => new SampleColumns())
        expect(await walk(read, 'asc', limit)).toEqual(expected)
        expect(await walk(read, 'desc', limit)).toEqual(expected.toReversed())
      }
      const few = lastOfBuckets(
        sourceOf(times.slice(0, 300)).read,
        interval,
        () => new SampleColumns(),
      )
      expect(await walk(few, 'asc', 3)).toEqual(expectedOf(times.slice(0, 300), interval))
    }
  })

  it('are read in pages, and other work gets its turn between them', async () => {
    const { read, counts } = sourceOf(dense)
    const slow: typeof read = (query) => {
      for (const end = performance.now() + 5; performance.now() < end;);
      return read(query)
    }
    let turns = 0
    const timer = setInterval(() => turns++, 0)
    const sampled = lastOfBuckets(slow, 6, () => new SampleColumns())
    const page = await sampled({ ...REF, order: 'asc', limit: 2000 })
    clearInterval(timer)
    expect(page.ordinals).toHaveLength(2000)
    expect(counts.reads).toBeLessThan(20)
    expect(turns).toBeGreaterThan(1)
  })

  it('come with all damage that was met, each once', async () => {
    const gapAt = (start: number): Gap => ({
      ...REF,
      scope: 'instrument',
      reason: 'corrupt',
      start: toMicros(start),
      end: toMicros(start + 1),
      afterSequence: start,
      journal: 1,
    })
    const { read } = sourceOf(dense, ({ order }) => [
      gapAt(7),
      ...(order === 'desc' ? [gapAt(9)] : []),
    ])
    const sampled = lastOfBuckets(read, 1000, () => new SampleColumns())
    const { corrupt } = await sampled({ ...REF, order: 'asc', limit: 10 })
    expect(corrupt.map(({ start }) => start)).toEqual([7, 9])
  })
})
