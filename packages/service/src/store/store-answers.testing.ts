import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import {
  lineOf,
  pageOf,
  type ModelStore,
  type PlainBucket,
  type PlainQuery,
} from './store-model.testing.ts'
import { bucketsOf, rowsOf, samplesOf, tradesOf } from './store-rows.testing.ts'
import { INSTRUMENTS, METRICS } from './store-script.testing.ts'
import type { InstrumentRef, Store } from './store.ts'

/** Compares long lists of lines; only the first difference is shown. */
export function expectLines(actual: readonly string[], wanted: readonly string[]): void {
  const at = wanted.findIndex((line, index) => line !== actual[index])
  if (at >= 0) expect(actual.slice(at, at + 2)).toEqual(wanted.slice(at, at + 2))
  expect(actual.length).toBe(wanted.length)
}

// The comparison of Node is much cheaper than `toEqual`, which then words the difference.
function expectEqual(actual: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(actual, wanted)) expect(actual).toEqual(wanted)
}

/** One page of observations against the model. */
export async function expectPage(
  store: Store,
  model: ModelStore,
  ref: InstrumentRef,
  query: PlainQuery,
): Promise<void> {
  const { venue, key } = ref
  const page = await store.books({ venue, key, ...query })
  const wanted = pageOf(model.rows(ref), (row) => row.sequence, query)
  expectLines(rowsOf(page.runs).map(lineOf), wanted.rows.map(lineOf))
  expect({ count: page.count, hasMore: page.hasMore, corrupt: page.corrupt }).toEqual({
    count: wanted.rows.length,
    hasMore: wanted.hasMore,
    corrupt: [],
  })
}

/** The newest observation against the model. */
export async function expectLatest(
  store: Store,
  model: ModelStore,
  ref: InstrumentRef,
): Promise<void> {
  const run = await store.latest(ref)
  const wanted = model.rows(ref).slice(-1)
  expectLines(rowsOf(run === undefined ? [] : [run]).map(lineOf), wanted.map(lineOf))
}

/** The book at an instant, or the gap, against the model. */
export async function expectAsOf(
  store: Store,
  model: ModelStore,
  ref: InstrumentRef & { market: string },
  at: number,
): Promise<void> {
  const { venue, key, market } = ref
  const answer = await store.asOf({ venue, key, at })
  const gaps = model.gapsAt(ref, market, at)
  const row = model.rowAt(ref, at)
  if (gaps.length === 0) {
    expect(answer.gap).toBeUndefined()
    expectLines(
      rowsOf(answer.run === undefined ? [] : [answer.run]).map(lineOf),
      row === undefined ? [] : [lineOf(row)],
    )
    return
  }
  expect(answer.run).toBeUndefined()
  expect(gaps).toContainEqual(answer.gap)
  expect(answer.lastBefore).toEqual(
    row === undefined ? undefined : { sequence: row.sequence, received: row.received },
  )
}

/** Interval sampling against the model. */
export async function expectBuckets(
  store: Store,
  model: ModelStore,
  ref: InstrumentRef,
  query: Parameters<ModelStore['buckets']>[1],
): Promise<void> {
  const { venue, key } = ref
  const page = await store.booksByInterval({ venue, key, ...query })
  const wanted = model.buckets(ref, query)
  expect(page.hasMore).toBe(wanted.hasMore)
  expect(page.corrupt).toEqual([])
  expectLines(bucketsOf(page.picks).map(bucketLine), wanted.buckets.map(bucketLine))
}

/** Every observation, trade and sample, against the model. */
export async function expectRows(store: Store, model: ModelStore): Promise<void> {
  for (const { venue, key } of INSTRUMENTS) {
    const ref = { venue, key }
    const count = model.rows(ref).length
    await expectPage(store, model, ref, { order: 'asc', limit: 100_000 })
    await expectPage(store, model, ref, { order: 'desc', limit: 17 })
    await expectLatest(store, model, ref)
    const facts = await store.instrument(ref)
    expect(facts === undefined ? 0 : facts.lastSequence - facts.firstSequence + 1).toBe(count)
    const whole = { venue, key, order: 'asc', limit: 100_000 } as const
    expectLines(
      tradesOf(await store.trades(whole)).map(({ text }) => text),
      model.tradesOf(ref).map(({ text }) => text),
    )
    for (const metric of METRICS) {
      expectLines(
        samplesOf(await store.samples({ ...whole, metric })).map(({ text }) => text),
        model.samplesOf(ref, metric).map(({ text }) => text),
      )
    }
  }
  const known = await store.instruments()
  expect(known.map(({ instrument }) => instrument.key).sort()).toEqual(
    INSTRUMENTS.filter((ref) => model.rows(ref).length > 0)
      .map(({ key }) => key)
      .sort(),
  )
  for (const venue of new Set(known.map(({ instrument }) => instrument.venue))) {
    const unbroken: string[] = []
    for (const { instrument } of known.filter((facts) => facts.instrument.venue === venue)) {
      const open = await store.gaps({ venue, key: instrument.key, open: true })
      if (open.length === 0) unbroken.push(instrument.key)
    }
    const found = await store.unbroken(venue)
    expect(found.map(({ key }) => key).sort()).toEqual(unbroken.sort())
  }
}

/** Everything that a store can be asked, against the model. */
export async function expectStore(store: Store, model: ModelStore): Promise<void> {
  await expectRows(store, model)
  for (const instrument of INSTRUMENTS) {
    const { venue, key, market } = instrument
    const ref = { venue, key }
    const rows = model.rows(ref)
    for (const row of [rows[0], rows[rows.length >> 1], rows.at(-1)]) {
      for (const at of row === undefined ? [] : [row.received - 1, row.received + 1]) {
        await expectAsOf(store, model, instrument, at)
      }
    }
    if (rows.length > 0) {
      const span = { start: rows[0]!.received, end: rows.at(-1)!.received + 1 }
      const query = { ...span, interval: 60_000_000, limit: 1000, order: 'desc' as const }
      await expectBuckets(store, model, ref, query)
      const coverage = await store.coverage(ref)
      expectEqual(coverage?.days, model.days(ref, market))
    }
    const states = model.markets.get(`${venue}:${market}`) ?? []
    expectEqual(await store.revisions(venue, market, { limit: 100_000 }), states)
    expect(await store.market(venue, market)).toEqual(states.at(-1))
    expect(await store.appliedPosition(venue)).toBe(model.applied.get(venue) ?? 0)
    expect(await store.fact(`seen:${venue}`)).toBe(model.facts.get(`seen:${venue}`))
  }
  expectEqual(await store.gaps({}), model.listGaps({}))
  const quarantined = await store.quarantine({ limit: 100_000 })
  expectEqual(
    quarantined.map(({ id: _id, raw, ...rest }) => ({ ...rest, raw: Buffer.from(raw) })),
    model.quarantine.map((message) => ({ ...message, raw: Buffer.from(message.raw) })),
  )
}

/** A bucket as one line. */
function bucketLine(bucket: PlainBucket): string {
  const { start, end, sequence, ageMs, observations, changes, partial, book } = bucket
  const facts = [start, end, `#${sequence}`, ageMs, observations, changes, partial].join(' ')
  return `${facts} = ${book}`
}
