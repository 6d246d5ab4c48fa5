import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chunkHash, openChunk } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import {
  expectAsOf,
  expectBuckets,
  expectLines,
  expectPage,
  expectStore,
} from './store-answers.testing.ts'
import { lineOf, ModelStore, pageOf, type PlainEntry } from './store-model.testing.ts'
import { CALM, DAY, FULL, ORDERS, type OpenedStore } from './store-opened.testing.ts'
import { linesOfChunk, replayTicks, rowsOf, samplesOf, tradesOf } from './store-rows.testing.ts'
import { createRandom } from '../lib/random.testing.ts'
import { BEGIN, INSTRUMENTS, METRICS, Script } from './store-script.testing.ts'
import type { InstrumentRef, Store } from './store.ts'

const platform = createNodePlatform()

/** One store of some thousand rows, asked in three states. */
export function readTests(openStore: () => Promise<OpenedStore>): void {
  const script = new Script(21, { calm: CALM.key, frames: 40 })
  const model = new ModelStore(script.books)
  const random = createRandom(22)
  let opened: OpenedStore
  let store: Store

  beforeAll(async () => {
    opened = await openStore()
    for (let round = 0; round < (FULL ? 30 : 8); round++) {
      const batches = script.take(70)
      await Promise.all(batches.map((batch) => opened.store.append(batch)))
      for (const batch of batches) model.apply(batch)
      if (round % 4 === 1) await opened.store.seal()
    }
    store = opened.store
  })
  afterAll(() => opened.destroy())

  test('the script is worth reading', () => {
    const rows = INSTRUMENTS.flatMap((ref) => model.rows(ref))
    expect(model.rows(CALM).length).toBeGreaterThan(2100)
    expect(rows.filter((row) => row.changeCount === 0).length).toBeGreaterThan(50)
    expect(rows.filter((row) => row.book === ' | ').length).toBeGreaterThan(5)
    expect(model.listGaps({}).length).toBeGreaterThan(20)
    expect(INSTRUMENTS.every((ref) => model.rows(ref).length > 300)).toBe(true)
  })

  describe.each([
    { state: 'as written', prepare: async () => opened.store },
    { state: 'through another handle', prepare: () => opened.openReader() },
    {
      state: 'sealed and opened again',
      prepare: async () => {
        await opened.store.seal()
        return opened.reopen()
      },
    },
  ])('$state', ({ prepare }) => {
    beforeAll(async () => {
      store = await prepare()
    })
    readStateTests(model, random, () => store)
  })
}

export function readStateTests(
  model: ModelStore,
  random: () => number,
  current: () => Store,
): void {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  /** A time that matters: of a row, around it, or anywhere. */
  const anyTime = (ref: InstrumentRef): number => {
    const rows = model.rows(ref)
    const span = rows.at(-1)!.received - rows[0]!.received
    if (random() < 0.2) return rows[0]!.received + Math.floor((random() * 1.2 - 0.1) * span)
    return pick(rows).received + pick([-1, 0, 0, 1])
  }

  test('every row and every book, at once', async () => {
    expect.hasAssertions()
    await expectStore(current(), model)
  })

  test('walks of any page size in both orders miss and repeat nothing', async () => {
    for (const size of [1, 2, 3, 7, 99, 100, 1000]) {
      for (const order of ORDERS) {
        // Small pages over a stretch, large ones over everything.
        const ref = size < 90 ? pick(INSTRUMENTS) : CALM
        const rows = model.rows(ref)
        const at = Math.floor(random() * (rows.length - 120))
        const range =
          size < 90 ? { start: rows[at]!.received, end: rows[at + 110]!.received + 1 } : {}
        const wanted = pageOf(rows, (row) => row.sequence, { order, ...range, limit: 1e9 })
        const found: string[] = []
        let after: number | undefined
        for (let more = true; more;) {
          const { venue, key } = ref
          const cursor = after === undefined ? {} : { after }
          const page = await current().books({
            venue,
            key,
            order,
            ...range,
            ...cursor,
            limit: size,
          })
          const lines = rowsOf(page.runs)
          expect(page.count).toBe(lines.length)
          if (order === 'desc') lines.reverse()
          found.push(...lines.map(lineOf))
          // Exact, and so the walk ends.
          expect(page.hasMore).toBe(found.length < wanted.rows.length)
          after = lines.at(-1)?.sequence
          more = page.hasMore
        }
        if (order === 'desc') found.reverse()
        expectLines(found, wanted.rows.map(lineOf))
      }
    }
  })

  test('any page is what the model says, ties and bounds included', async () => {
    expect.hasAssertions()
    for (let index = 0; index < (FULL ? 2000 : 40); index++) {
      const ref = pick(INSTRUMENTS)
      const [a, b] = [anyTime(ref), anyTime(ref)]
      const limit = pick([1, 2, 3, 7, 99, 100, 1000])
      const order = pick(ORDERS)
      const last = model.rows(ref).length
      await expectPage(current(), model, ref, {
        order,
        limit,
        ...(random() < 0.7 ? { start: Math.min(a, b) } : {}),
        ...(random() < 0.7 ? { end: Math.max(a, b) } : {}),
        ...(random() < 0.4 ? { after: Math.floor(random() * (last + 4)) } : {}),
        ...(random() < 0.2 ? { knownAt: anyTime(ref) } : {}),
      })
    }
  })

  test('an empty range and a page outside everything are empty', async () => {
    const { venue, key } = CALM
    const rows = model.rows(CALM)
    const [first, last] = [rows[0]!.received, rows.at(-1)!.received]
    for (const order of ORDERS) {
      for (const range of [
        { start: last + 1 },
        { end: first },
        { start: first + 1, end: first + 1 },
        { start: last, end: first },
        { knownAt: first - 1 },
      ]) {
        const page = await current().books({ venue, key, order, limit: 10, ...range })
        expect(page).toEqual({ runs: [], count: 0, hasMore: false, corrupt: [] })
      }
      const unknown = await current().books({ venue, key: 'NEVER', order, limit: 10 })
      expect(unknown).toEqual({ runs: [], count: 0, hasMore: false, corrupt: [] })
    }
  })

  test('pages without numbers have the same times, flags and books', async () => {
    expect.hasAssertions()
    for (const { venue, key } of INSTRUMENTS) {
      const query = { venue, key, order: 'asc', limit: 100_000, numbers: false } as const
      const page = await current().books(query)
      expectLines(
        rowsOf(page.runs).map((row) => lineOf({ ...row, numbers: '' })),
        model.rows({ venue, key }).map((row) => lineOf({ ...row, numbers: '' })),
      )
    }
  })

  test('changed levels, applied one by one, give every book', async () => {
    expect.hasAssertions()
    for (const { venue, key } of INSTRUMENTS) {
      const page = await current().books({ venue, key, order: 'asc', limit: 100_000 })
      expectLines(
        replayTicks(page.runs),
        model.rows({ venue, key }).map((row) => row.book),
      )
    }
  })

  test('as of any instant: the last book, or the gap and what was before it', async () => {
    expect.hasAssertions()
    for (const ref of INSTRUMENTS) {
      const rows = model.rows(ref)
      const all = model.listGaps({ venue: ref.venue, key: ref.key })
      const gaps = all.filter(() => FULL || random() < 8 / all.length)
      const around = gaps.flatMap(({ start, end = start + DAY }) => [
        start,
        start + 1,
        Math.floor((start + end) / 2),
        end - 1,
        end,
      ])
      const times = [
        0,
        rows[0]!.received - 1,
        rows[0]!.received,
        rows.at(-1)!.received,
        rows.at(-1)!.received + DAY,
        ...around,
        ...Array.from({ length: FULL ? 1000 : 25 }, () => anyTime(ref)),
      ]
      for (const at of times) await expectAsOf(current(), model, ref, at)
    }
  })

  test('what was received later is not known', async () => {
    for (let index = 0; index < 40; index++) {
      const { venue, key, market } = pick(INSTRUMENTS)
      const ref = { venue, key }
      const [at, knownAt] = [anyTime(ref), anyTime(ref)]
      const known = Math.min(at, knownAt)
      if (model.gapsAt(ref, market, known).length > 0) continue
      const answer = await current().asOf({ venue, key, at, knownAt })
      const row = model.rowAt(ref, known)
      expect(rowsOf(answer.run === undefined ? [] : [answer.run]).map(lineOf)).toEqual(
        row === undefined ? [] : [lineOf(row)],
      )
    }
  })

  test('interval sampling with a depth: the same rows with their best levels', async () => {
    let levels = 0
    for (const { venue, key } of INSTRUMENTS) {
      const query = { venue, key, start: 0, end: BEGIN + 1000 * DAY, interval: 60_000_000 }
      for (const order of ORDERS) {
        const all = { ...query, limit: 200, order }
        const whole = await current().booksByInterval(all)
        const best = await current().booksByInterval({ ...all, depth: 2 })
        expect(best.picks).toHaveLength(whole.picks.length)
        for (const [index, { columns, row, ...facts }] of whole.picks.entries()) {
          const { columns: cut, row: cutRow, ...same } = best.picks[index]!
          expect(same).toEqual(facts)
          expect(cut.received[cutRow]).toBe(columns.received[row])
          const keys = columns.baseKey
          const side = (bit: number) => keys.filter((one) => (one & 1) === bit).slice(0, 2)
          const wanted = [...side(0), ...side(1)]
          expect(cut.baseKey).toEqual(wanted)
          expect(cut.baseSize).toEqual(wanted.map((one) => columns.baseSize[keys.indexOf(one)]))
          levels += wanted.length
        }
      }
    }
    expect(levels).toBeGreaterThan(100)
  })

  test('interval sampling: the last row of each bucket, what it counts, and where it is cut', async () => {
    expect.hasAssertions()
    const intervals = [1, 5, 10, 30, 60, 300, 900, 3600, 86_400].map((each) => each * 1_000_000)
    for (let index = 0; index < (FULL ? 800 : 30); index++) {
      const ref = pick(INSTRUMENTS)
      const [a, b] = [anyTime(ref), anyTime(ref)]
      await expectBuckets(current(), model, ref, {
        start: Math.min(a, b),
        end: Math.max(a, b),
        interval: pick(intervals),
        limit: pick([1, 2, 3, 10, 1000]),
        order: pick(ORDERS),
        ...(random() < 0.2 ? { knownAt: anyTime(ref) } : {}),
      })
    }
    for (const order of ORDERS) {
      const query = { start: 0, end: BEGIN + 1000 * DAY, interval: DAY, limit: 1000, order }
      for (const ref of INSTRUMENTS) await expectBuckets(current(), model, ref, query)
    }
  })

  test('trades and samples: pages in both orders, one metric never in another', async () => {
    const series: { all: readonly PlainEntry[]; read: (query: Query) => Promise<Entries> }[] = []
    type Query = Parameters<typeof pageOf>[2]
    type Entries = { entries: PlainEntry[]; hasMore: boolean }
    for (const { venue, key } of INSTRUMENTS) {
      const ref = { venue, key }
      series.push({
        all: model.tradesOf(ref),
        read: async (query) => {
          const page = await current().trades({ ...ref, ...query })
          expect(page.rows.count).toBe(page.ordinals.length)
          return { entries: tradesOf(page), hasMore: page.hasMore }
        },
      })
      for (const metric of METRICS) {
        series.push({
          all: model.samplesOf(ref, metric),
          read: async (query) => {
            const page = await current().samples({ ...ref, metric, ...query })
            expect(page.rows.count).toBe(page.ordinals.length)
            return { entries: samplesOf(page), hasMore: page.hasMore }
          },
        })
      }
    }
    for (const { all, read } of series) {
      for (let index = 0; index < (FULL ? 300 : 10); index++) {
        const time = (): number =>
          all.length === 0 ? BEGIN : pick(all).received + pick([-1, 0, 1])
        const [a, b] = [time(), time()]
        const query = {
          order: pick(ORDERS),
          limit: pick([1, 2, 3, 7, 99, 1000]),
          ...(random() < 0.5 ? { start: Math.min(a, b) } : {}),
          ...(random() < 0.5 ? { end: Math.max(a, b) } : {}),
          ...(random() < 0.4 ? { after: Math.floor(random() * (all.length + 3)) } : {}),
          ...(random() < 0.2 ? { knownAt: time() } : {}),
        }
        const wanted = pageOf(all, ({ ordinal }) => ordinal, query)
        const page = await read(query)
        expectLines(
          page.entries.map(({ text }) => text),
          wanted.rows.map(({ text }) => text),
        )
        expect(page.hasMore).toBe(wanted.hasMore)
      }
    }
    const { venue, key } = INSTRUMENTS[0]!
    const other = await current().samples({ venue, key, metric: 'chanc', order: 'asc', limit: 5 })
    expect(other.ordinals).toEqual([])
  })

  test('chunks follow each other without a hole and hold what the model holds', async () => {
    for (const { venue, key } of INSTRUMENTS) {
      const ref = { venue, key }
      const lines = new Map<string, string[]>([['book/', []]])
      for await (const chunk of current().chunks(ref)) {
        const { kind, metric, first } = chunk
        const list = lines.get(`${kind}/${metric}`) ?? []
        expect(first).toBe(list.length + 1)
        lines.set(`${kind}/${metric}`, [...list, ...linesOfChunk(chunk, ref)])
      }
      for (const [name, list] of lines) {
        const [kind, metric] = name.split('/')
        const entries = kind === 'trade' ? model.tradesOf(ref) : model.samplesOf(ref, metric!)
        const all = kind === 'book' ? model.rows(ref).map(lineOf) : entries.map(({ text }) => text)
        expectLines(list, all.slice(0, list.length))
      }
    }
  })

  test('the head of rows is the hash of the newest sealed chunk that holds one of them', async () => {
    let heads = 0
    for (const { venue, key } of INSTRUMENTS) {
      const sealed = new Map<string, { first: number; last: number; hash: string }[]>()
      for await (const chunk of current().chunks({ venue, key })) {
        const name = `${chunk.kind}/${chunk.metric}`
        const list = sealed.get(name) ?? []
        sealed.set(name, list)
        if (!chunk.sealed) continue
        const hash = chunkHash(openChunk(chunk.bytes, platform), platform)
        const { first, count } = chunk
        list.push({ first, last: first + count - 1, hash: Buffer.from(hash).toString('hex') })
      }
      for (const [name, list] of sealed) {
        const [kind, metric] = name.split('/') as ['book', string]
        const ask = (first: number, last: number): Promise<string | undefined> =>
          current().head({ venue, key, kind, metric, first, last })
        for (const { first, last, hash } of list) {
          heads++
          expect(await ask(first, first)).toBe(hash)
          expect(await ask(1, last)).toBe(hash)
        }
        const end = list.at(-1)
        expect(await ask(1, Number.MAX_SAFE_INTEGER)).toBe(end?.hash)
        expect(await ask((end?.last ?? 0) + 1, Number.MAX_SAFE_INTEGER)).toBeUndefined()
      }
    }
    expect(heads).toBeGreaterThan(0)
    expect(
      await current().head({ venue: 'venueb', key: 'NONE', kind: 'book', first: 1, last: 9 }),
    ).toBe(undefined)
  })

  test('verify finds nothing wrong and counts every row', async () => {
    const told: number[] = []
    const report = await current().verify((done, total) => told.push(done / total))
    const size = (map: Map<string, readonly unknown[]>): number =>
      [...map.values()].reduce((sum, list) => sum + list.length, 0)
    expect(report).toEqual({
      chunks: expect.any(Number) as number,
      observations: size(model.books),
      trades: size(model.trades),
      samples: size(model.samples),
      problems: [],
    })
    expect(told.length).toBeGreaterThan(0)
    expect(told.every((part) => part >= 0 && part <= 1)).toBe(true)
  })
}
