import { spawn } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import {
  expectAsOf,
  expectBuckets,
  expectLatest,
  expectLines,
  expectPage,
  expectStore,
} from './store-answers.testing.ts'
import { digestOf, type ReaderRecipe, type Sighting } from './store-follower.testing.ts'
import { lineOf, ModelStore } from './store-model.testing.ts'
import {
  CALM,
  DAY,
  FULL,
  ORDERS,
  write,
  type Open,
  type OpenWritten,
} from './store-opened.testing.ts'
import { rowsOf, tradesOf } from './store-rows.testing.ts'
import { BEGIN, INSTRUMENTS, Script } from './store-script.testing.ts'
import type { AppendBatch, Store } from './store.ts'

/** What removing old chunks leaves behind. */
export function retentionTests(open: Open): void {
  test('what remains is unchanged, what went is a gap', async () => {
    const { store, reopen } = await open()
    const script = new Script(51)
    const model = new ModelStore(script.books)
    let current = store
    let removed = 0
    for (let round = 0; round < 3; round++) {
      await write(current, model, script.take(80))
      await current.seal()
      await write(current, model, script.take(4))
      const heads = await headsOf(current)
      const times = INSTRUMENTS.flatMap((ref) => model.rows(ref).map((row) => row.received))
      times.sort((a, b) => a - b)
      const before = times[Math.floor(times.length * (0.3 + round * 0.25))]!
      const counts = await countsOf(current)
      const report = await current.retain(before)
      expect(counts - (await countsOf(current))).toBe(report.rows)
      removed += report.rows
      await expectRemains(current, model, before)
      current = await reopen()
      await expectRemains(current, model, before)
      expect(await headsOf(current)).toEqual(heads)
      expect(await current.retain(before)).toEqual({ chunks: 0, rows: 0, bytes: 0 })
    }
    expect(removed).toBeGreaterThan(100)
    await write(current, model, script.take(60))
    await current.seal()
    await expectRemains(current, model, 0)
  })

  test('however much is removed, later changes still find the book they change', async () => {
    expect.hasAssertions()
    const { store, reopen } = await open()
    const script = new Script(52, { instruments: [CALM], calm: CALM.key, steady: true })
    const model = new ModelStore(script.books)
    // Exactly one full chunk and nothing after it, if chunks have the size that this engine's have.
    await write(store, model, script.take(64, 32))
    await store.seal()
    await store.retain(script.now + DAY)
    await write(store, model, script.take(3))
    const current = await reopen()
    await write(current, model, script.take(3))
    await expectRemains(current, model, script.now + DAY)
    await current.seal()
    await expectRemains(current, model, script.now + DAY)
  })

  const headsOf = async (store: Store): Promise<unknown> =>
    (await store.instruments()).map(({ instrument, head }) => [instrument.key, head])

  const countsOf = async (store: Store): Promise<number> => {
    const { observations, trades, samples } = await store.verify()
    return observations + trades + samples
  }

  /** Every answer is that of the model without the rows before the first remaining one. */
  const expectRemains = async (store: Store, model: ModelStore, before: number): Promise<void> => {
    for (const { venue, key, market } of INSTRUMENTS) {
      const ref = { venue, key }
      const all = model.rows(ref)
      if (all.length === 0) continue
      const facts = (await store.instrument(ref))!
      const gone = all.slice(0, facts.firstSequence - 1)
      if (before > 0) expect(gone.filter((row) => row.received >= before)).toEqual([])
      const rest = new ModelStore(new WeakMap())
      rest.books.set(`${venue}:${key}`, all.slice(gone.length))
      for (const gap of model.listGaps(ref)) rest.addGap(gap)
      const retention = await store.gaps({ ...ref, reason: 'retention' })
      expect(retention.length).toBe(gone.length === 0 ? 0 : 1)
      for (const gap of retention) {
        expect([gap.start, gap.end]).toEqual([gone[0]!.received, gone.at(-1)!.received + 1])
        rest.addGap(gap)
      }
      const remaining = rest.rows(ref)
      expect(facts).toMatchObject({
        lastSequence: all.length,
        firstReceived: remaining[0]!.received,
        lastReceived: remaining.at(-1)!.received,
      })
      for (const order of ORDERS) {
        await expectPage(store, rest, ref, { order, limit: 100_000 })
        await expectPage(store, rest, ref, { order, limit: 5, after: facts.firstSequence + 2 })
        await expectPage(store, rest, ref, { order, limit: 5, after: facts.firstSequence - 1 })
        await expectPage(store, rest, ref, { order, limit: 5, after: 1 })
        await expectPage(store, rest, ref, { order, limit: 5, end: remaining[0]!.received + 1 })
        for (const interval of [60_000_000, DAY]) {
          const query = { start: 0, end: BEGIN + 1000 * DAY, interval, limit: 9, order }
          await expectBuckets(store, rest, ref, query)
        }
      }
      await expectLatest(store, rest, ref)
      for (const row of [...gone.slice(0, 3), ...gone.slice(-3), ...remaining.slice(0, 3)]) {
        const instrument = { venue, key, market }
        await expectAsOf(store, rest, instrument, row.received)
        await expectAsOf(store, rest, instrument, row.received + 1)
      }
      expect((await store.coverage(ref))?.days).toEqual(rest.days(ref, market))
      const trades = tradesOf(await store.trades({ ...ref, order: 'asc', limit: 100_000 }))
      expectLines(
        trades.map(({ text }) => text),
        model
          .tradesOf(ref)
          .slice(model.tradesOf(ref).length - trades.length)
          .map(({ text }) => text),
      )
    }
    expect((await store.verify()).problems).toEqual([])
  }
}

/** Copies while the store is written. */
export function backupTests(openWritten: OpenWritten): void {
  test('a copy made while appends go on is the state of one moment', async () => {
    const { store, model, script, backupFile, openBackup, openReader } = await openWritten(61, 60)
    await store.seal()
    await write(store, model, script.take(10))
    const reader = await openReader()
    const batches = script.take(30)
    const appends = Promise.all(batches.slice(0, 15).map((batch) => store.append(batch)))
    const copied = reader.backup(backupFile)
    await Promise.all([copied, appends, ...batches.slice(15).map((batch) => store.append(batch))])
    const copy = await openBackup()
    let taken = 0
    const isThere = async (batch: AppendBatch): Promise<boolean> =>
      (await copy.appliedPosition(batch.venue)) >= batch.position
    while (taken < batches.length && (await isThere(batches[taken]!)))
      model.apply(batches[taken++]!)
    await expectStore(copy, model)
    expect((await copy.verify()).problems).toEqual([])
    for (const batch of batches.slice(taken)) model.apply(batch)
    await expectStore(store, model)
  })
}

/** Other handles and other processes that follow the writer. */
export function readerTests(open: Open): void {
  test('another handle sees every append and every sealing at once', async () => {
    const { store, openReader } = await open()
    const script = new Script(71)
    const model = new ModelStore(script.books)
    const reader = await openReader()
    await expectStore(reader, model)
    for (let round = 0; round < 25; round++) {
      await write(store, model, script.take(script.whole(1, 4)))
      for (const each of [store, reader]) {
        for (const ref of INSTRUMENTS) await expectLatest(each, model, ref)
      }
      if (round % 4 === 1) await store.seal()
      if (round % 2 === 0) await expectStore(reader, model)
    }
    const late = await openReader()
    await expectStore(late, model)
    expect((await late.verify()).problems).toEqual([])
    // A page handed out stays what it was.
    const { venue, key } = INSTRUMENTS[3]!
    const page = await reader.books({ venue, key, order: 'asc', limit: 100_000 })
    const before = rowsOf(page.runs).map(lineOf)
    await write(store, model, script.take(30))
    await reader.latest({ venue, key })
    await store.seal()
    await reader.latest({ venue, key })
    expectLines(rowsOf(page.runs).map(lineOf), before)
  })

  test('a reader may not write', async () => {
    const { store, openReader } = await open()
    const script = new Script(72)
    await store.append(script.next())
    const reader = await openReader()
    for (const call of [
      () => reader.append(script.next()),
      () => reader.seal(),
      () => reader.retain(0),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'store_read_only' })
    }
  })

  test('another process follows appends and sealing, and always sees a consistent prefix', async () => {
    const { store, reader: recipe } = await open()
    const script = new Script(73, { frames: 20 })
    const model = new ModelStore(script.books)
    // How many rows each instrument had after each batch: a reader may see these and no others.
    const ends = new Map(INSTRUMENTS.map(({ key }) => [key, new Set([0])]))
    const append = async (batch: AppendBatch): Promise<void> => {
      await write(store, model, [batch])
      for (const ref of INSTRUMENTS) ends.get(ref.key)!.add(model.rows(ref).length)
    }
    await append(script.next())
    const follower = startFollower(recipe)
    await follower.started
    // It has to follow, not only to see the beginning and the end.
    const enough = (FULL ? 100 : 6) * INSTRUMENTS.length
    for (let round = 1; follower.states() < enough; round++) {
      await append(script.next())
      if (round % 20 === 0) await store.seal()
      await wait(round % 5 === 0 ? 2 : 0)
    }
    const sightings = await follower.stop()
    const digests = new Map<string, string>()
    const seen = new Map<string, number>()
    for (const { key, count, digest, latest } of sightings) {
      const ref = INSTRUMENTS.find((instrument) => instrument.key === key)!
      const rows = model.rows(ref)
      expect(ends.get(key)).toContain(count)
      expect(count).toBeGreaterThanOrEqual(seen.get(key) ?? 0)
      seen.set(key, count)
      const name = `${key}/${count}`
      if (!digests.has(name)) digests.set(name, digestOf(rows.slice(0, count)))
      expect(digest).toBe(digests.get(name))
      // `latest` is asked a moment later, so it may be newer.
      if (latest === '') continue
      const sequence = Number(/^#(\d+)/.exec(latest)![1])
      expect(sequence).toBeGreaterThanOrEqual(count)
      expect(latest).toBe(lineOf(rows[sequence - 1]!))
    }
    for (const ref of INSTRUMENTS) expect(seen.get(ref.key)).toBe(model.rows(ref).length)
    expect(digests.size).toBeGreaterThanOrEqual(enough)
  })
}

type Follower = {
  readonly started: Promise<unknown>
  /** In how many states it has seen an instrument, over all of them. */
  states(): number
  stop(): Promise<Sighting[]>
}

function startFollower(recipe: ReaderRecipe): Follower {
  const refs = INSTRUMENTS.map(({ venue, key }) => ({ venue, key }))
  const program = fileURLToPath(new URL('store-follower.testing.ts', import.meta.url))
  const child = spawn(process.execPath, [program, JSON.stringify({ recipe, refs })])
  const { promise: started, resolve } = Promise.withResolvers<unknown>()
  const { promise: ended, resolve: end } = Promise.withResolvers<number | null>()
  let printed = ''
  const states = new Set<string>()
  let errors = ''
  child.stderr.on('data', (text) => (errors += String(text)))
  child.stdout.on('data', (text) => {
    printed += String(text)
    for (const [state] of String(text).matchAll(/"key":"[^"]*","count":\d+(?=,)/g))
      states.add(state)
    resolve(undefined)
  })
  child.on('close', (code) => {
    end(code)
    resolve(undefined)
  })
  return {
    started,
    // One that died is found by `stop`.
    states: () => (child.exitCode === null ? states.size : Infinity),
    async stop() {
      child.stdin.end()
      const code = await ended
      expect(errors).toBe('')
      expect(code).toBe(0)
      return printed
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Sighting)
    },
  }
}
