import { DAY_MICROS, type Micros } from '@priorbook/sdk/domain'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../lib/clock.testing.ts'
import { openEmbeddedStore } from '../../store/embedded/open.ts'
import { ModelStore } from '../../store/store-model.testing.ts'
import { write } from '../../store/store-opened.testing.ts'
import {
  createRecord,
  createWholeBook,
  INSTRUMENTS,
  Script,
} from '../../store/store-script.testing.ts'
import { createTestServer, type TestServer } from '../server.testing.ts'
import type { ApiServerOptions } from '../server.ts'
import { BookKeeper, bookText, toBook } from './book-keeper.testing.ts'
import { StreamClient, type AnyMessage } from './stream.testing.ts'

type Listening = TestServer & {
  readonly script: Script
  readonly url: string
  readonly key: string
  /** Appends the next batches of the script. */
  add(batches: number): Promise<void>
  connect(key?: string): Promise<StreamClient>
}

async function start(
  options: Partial<ApiServerOptions> & { path?: string; seed?: number; empty?: boolean } = {},
): Promise<Listening> {
  const script = new Script(options.seed ?? 5)
  const now = (): Micros => script.now as Micros
  const test = await createTestServer({ now, ...options })
  const { port } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  const model = new ModelStore(script.books)
  const url = `ws://127.0.0.1:${port}/v3/stream`
  const key = test.keyOf('unlimited')
  const add = (batches: number): Promise<void> => write(test.store, model, script.take(batches))
  while (!options.empty && (await test.store.market(venue, market)) === undefined) await add(1)
  return {
    ...test,
    script,
    url,
    key,
    add,
    async connect(own = key) {
      const client = await new StreamClient(url, { key: own }).open()
      await client.next('welcome')
      return client
    },
  }
}

const { venue, market, key: KEY } = INSTRUMENTS[1]!
const SUBSCRIBE = { op: 'subscribe', id: 's', venue, market_id: market } as const

type RestRow = Parameters<typeof toBook>[0] & { readonly sequence: number }

/** The rows of the instrument after a sequence, read over REST. */
async function rowsByRest(test: Listening, after = 0): Promise<readonly RestRow[]> {
  const rows: RestRow[] = []
  let cursor = ''
  do {
    const path = `/v3/venueb/${market}/snapshots?limit=1000&include_orderbook=true${cursor}`
    const page = (await test.ask(path, { key: test.key })).json() as {
      data: RestRow[]
      pagination: { next_cursor: string | null }
    }
    rows.push(...page.data)
    const next = page.pagination.next_cursor
    cursor = next === null ? '' : `&cursor=${next}`
  } while (cursor !== '')
  return rows.filter(({ sequence }) => sequence > after)
}

function booksOf(messages: readonly AnyMessage[]): AnyMessage[] {
  return messages.filter(({ type }) => type === 'snapshot' || type === 'update')
}

function lastOf(client: StreamClient): number {
  return (booksOf(client.messages).at(-1)?.['sequence'] as number | undefined) ?? 0
}

// Appends a new market with its first two rows.
async function addNew({ store, script }: Listening): Promise<void> {
  const instrument = { venue, market: 'NEW', key: 'NEW' } as const
  const position = (await store.appliedPosition(venue)) + 1
  const received = (script.now + 1) as Micros
  const row = createWholeBook(instrument, received, position)
  const record = createRecord(instrument, '1')
  await store.append({
    venue,
    position,
    origin: 'live',
    recorder: 'r1',
    normalizer: 1,
    observations: [row, { ...row, flags: 0, keys: [100], sizes: [7] }],
    revisions: [{ kind: 'market', received, journal: position, record }],
  })
}

async function expectNew(client: StreamClient): Promise<void> {
  const isNew = (one: AnyMessage): boolean =>
    one['key'] === 'NEW' || (one.type === 'market' && JSON.stringify(one).includes('"NEW"'))
  await client.until(() => client.messages.some((one) => isNew(one) && one.type === 'update'))
  const own = client.messages.filter(isNew)
  expect(
    own.map(({ type, sequence, previous_sequence: previous }) => [type, sequence, previous]),
  ).toEqual([
    ['market', undefined, undefined],
    ['snapshot', 1, null],
    ['update', 2, 1],
  ])
}

describe('a subscription', () => {
  it('starts with the present book and continues with every row, equal to REST', async () => {
    const test = await start()
    await test.add(20)
    const client = await test.connect()
    client.send(SUBSCRIBE)
    expect(await client.next('subscribed')).toMatchObject({ id: 's', markets: 1, instruments: 1 })
    expect(await client.next('market')).toMatchObject({ row: { market_id: market } })
    const first = await client.next('snapshot')
    await client.next('snapshots_done')
    for (let round = 0; round < 10; round++) await test.add(5)
    const wanted = await rowsByRest(test, (first['sequence'] as number) - 1)
    expect(wanted.length).toBeGreaterThan(20)
    await client.until(() => lastOf(client) >= wanted.at(-1)!.sequence)
    const books = booksOf(client.messages)
    expect(books.map(({ row }) => row)).toEqual(wanted)
    for (const row of books.slice(1)) {
      expect(row['previous_sequence']).toBe((row['sequence'] as number) - 1)
    }
  })

  it('in mode changes gives the same books, row by row', async () => {
    const test = await start({ seed: 6 })
    await test.add(5)
    const client = await test.connect()
    client.send({ ...SUBSCRIBE, mode: 'changes' })
    await client.next('snapshots_done')
    await test.add(60)
    const wanted = new Map((await rowsByRest(test)).map((row) => [row.sequence, row]))
    await client.until(() => lastOf(client) >= wanted.size)
    const keeper = new BookKeeper()
    for (const message of booksOf(client.messages)) {
      keeper.apply(message)
      const row = wanted.get(message['sequence'] as number)!
      expect(keeper.textOf(KEY)).toBe(bookText(toBook(row)))
    }
    expect(keeper.holes).toEqual([])
    expect(
      client.messages.some(({ row }) => 'changes' in ((row as object | undefined) ?? {})),
    ).toBe(true)
  })

  it('with conflation names the skipped rows and ends with the same book', async () => {
    for (const mode of ['full', 'changes'] as const) {
      const clock = new ManualClock()
      const test = await start({ seed: 7, stream: { clock } })
      await test.add(5)
      const client = await test.connect()
      client.send({ ...SUBSCRIBE, mode, conflate_ms: 100 })
      await client.next('snapshots_done')
      for (let round = 0; round < 40; round++) {
        await test.add(2)
        await clock.advance(10)
      }
      await clock.advance(100)
      const rows = await rowsByRest(test)
      await client.until(() => lastOf(client) >= rows.length)
      const keeper = new BookKeeper()
      for (const message of booksOf(client.messages)) {
        keeper.apply(message)
        const row = rows[(message['sequence'] as number) - 1]!
        expect(keeper.textOf(KEY)).toBe(bookText(toBook(row)))
      }
      expect(keeper.holes).toEqual([])
      expect(keeper.seen.get(KEY)!.length).toBeLessThan(rows.length - 5)
      // The snapshot, one row per slot of 100 ms, and the row before each gap.
      const gaps = client.messages.filter(({ type }) => type === 'gap').length
      expect(keeper.seen.get(KEY)!.length).toBeLessThanOrEqual(1 + 6 + gaps)
    }
  })

  it('sends gaps and trades between the rows, and open gaps at the start', async () => {
    const test = await start({ seed: 8 })
    const client = await test.connect()
    await test.add(10)
    client.send(SUBSCRIBE)
    const from = (await client.next('snapshot'))['sequence'] as number
    await client.next('snapshots_done')
    await test.add(250)
    const rows = await rowsByRest(test)
    await client.until(() => lastOf(client) >= rows.length)
    // Of one commit trades come behind books and their gaps.
    const trades = await test.store.trades({ venue, key: KEY, order: 'asc', limit: 1000 })
    await client.until(() =>
      client.messages.some(
        (one) => one.type === 'trade' && one['sequence'] === trades.ordinals.at(-1),
      ),
    )
    const gaps = (await test.store.gaps({ venue, key: KEY })).filter(
      ({ afterSequence }) => afterSequence >= from,
    )
    expect(gaps.length).toBeGreaterThan(3)
    const received = client.messages.filter(({ type }) => type === 'gap')
    for (const { start, end, afterSequence } of gaps) {
      const same = client.messages.findLastIndex((message) => {
        const gap = message['gap'] as
          | { after_sequence: number; end_time: string | null }
          | undefined
        return (
          gap?.after_sequence === afterSequence && (gap.end_time === null) === (end === undefined)
        )
      })
      expect([start, same]).not.toEqual([start, -1])
      // The row behind the gap comes behind its message.
      const next = client.messages.findIndex(
        (message) => message.type === 'update' && message['sequence'] === afterSequence + 1,
      )
      expect(next === -1 || next > same).toBe(true)
    }
    expect(received.length).toBeGreaterThanOrEqual(gaps.length)
    const all = client.messages.filter(({ type }) => type === 'trade')
    const first = all[0]!['sequence'] as number
    expect(all.map((one) => one['sequence'])).toEqual(trades.ordinals.filter((one) => one >= first))
    expect(all.map((one) => one['previous_sequence']).slice(0, 2)).toEqual([null, first])
    const late = await test.connect()
    late.send(SUBSCRIBE)
    await late.next('snapshots_done')
    const open = gaps.filter(({ end }) => end === undefined)
    expect(late.messages.filter(({ type }) => type === 'gap').length).toBe(open.length)
  })

  it('to a family includes new markets from their first row', async () => {
    const test = await start()
    await test.add(30)
    const client = await test.connect()
    client.send({ op: 'subscribe', id: 'all', venue: 'venueb' })
    expect(await client.next('subscribed')).toMatchObject({ instruments: 2 })
    await client.next('snapshots_done')
    await addNew(test)
    await expectNew(client)
    client.send({ op: 'unsubscribe', id: 'all' })
    await client.next('unsubscribed')
    const heard = client.messages.length
    await test.add(10)
    client.send({ op: 'ping', nonce: 'n' })
    expect(await client.next('pong')).toMatchObject({ nonce: 'n' })
    expect(client.messages.length).toBe(heard + 1)
  })

  it('to a venue may start before its first market is recorded', async () => {
    const test = await start({ empty: true })
    const client = await test.connect()
    client.send({ op: 'subscribe', id: 'all', venue })
    expect(await client.next('subscribed')).toMatchObject({ markets: 0, instruments: 0 })
    expect(await client.next('snapshots_done')).toMatchObject({ id: 'all' })
    await addNew(test)
    await expectNew(client)
  })
})

describe('a client that reconnects', () => {
  it('gets every row after its last one, and the gaps since', async () => {
    for (const mode of ['full', 'changes'] as const) {
      const test = await start({ seed: 9 })
      await test.add(20)
      const keeper = new BookKeeper()
      const rows: number[] = []
      for (let round = 0; round < 8; round++) {
        const client = await test.connect()
        const resume = Object.fromEntries([
          ...keeper.sequences,
          ...[...keeper.trades].map(([key, last]) => [`${key}/trade`, last] as const),
        ])
        client.send({ ...SUBSCRIBE, mode, ...(round === 0 ? {} : { resume }) })
        await client.next('snapshots_done')
        const adding = test.add(6)
        if (round % 2 === 0) await adding
        client.socket.terminate()
        await client.close()
        await adding
        for (const message of client.messages) keeper.apply(message)
        rows.push(client.messages.filter(({ type }) => type === 'snapshot').length)
        await test.add(6)
      }
      const last = await test.connect()
      last.send({ ...SUBSCRIBE, mode, resume: Object.fromEntries(keeper.sequences) })
      await last.next('snapshots_done')
      for (const message of last.messages) keeper.apply(message)
      const all = await rowsByRest(test)
      const seen = keeper.seen.get(KEY)!
      expect(seen).toEqual(all.map(({ sequence }) => sequence).slice(seen[0]! - 1))
      expect(keeper.textOf(KEY)).toBe(bookText(toBook(all.at(-1)!)))
      expect(keeper.holes).toEqual([])
      expect(rows).toEqual([1, 0, 0, 0, 0, 0, 0, 0])
      const gaps = (await test.store.gaps({ venue, key: KEY })).filter(
        ({ afterSequence }) => afterSequence >= seen[0]!,
      )
      const received = keeper.gaps.map(({ gap }) => gap as { after_sequence: number })
      for (const { afterSequence } of gaps) {
        expect(received.map((gap) => gap.after_sequence)).toContain(afterSequence)
      }
    }
  })

  it('gets no row again that its plan does not reach', async () => {
    const week = {
      rank: 1,
      venues: [venue],
      assets: null,
      days: 7,
      per_second: null,
      per_minute: null,
      features: [],
    }
    const path = mkdtempSync(join(tmpdir(), 'priorbook-plans-'))
    onTestFinished(() => rmSync(path, { recursive: true }))
    writeFileSync(join(path, 'plans.json'), JSON.stringify({ plans: { week } }))
    const script = new Script(5)
    const time = { now: script.now as Micros }
    const store = openEmbeddedStore({ file: join(path, 'tape.db') })
    onTestFinished(() => store.close())
    const model = new ModelStore(script.books)
    await write(store, model, script.take(30))
    time.now = script.now as Micros
    const test = await start({ path, store, now: () => time.now, empty: true })
    const last = (await rowsByRest(test)).length
    const resume = { [KEY]: 1, [`${KEY}/trade`]: 1 }
    const follow = async (id: string): Promise<readonly AnyMessage[]> => {
      const client = await test.connect(test.keyOf('week'))
      client.send({ ...SUBSCRIBE, id, resume })
      await client.next('snapshots_done')
      const messages = [...client.messages]
      client.socket.terminate()
      await client.close()
      return messages
    }
    const sequences = (messages: readonly AnyMessage[]): unknown[] =>
      booksOf(messages).map(({ sequence }) => sequence)
    const within = await follow('within')
    expect(sequences(within)).toEqual(Array.from({ length: last - 1 }, (_, at) => at + 2))
    expect(within.filter(({ type }) => type === 'trade').length).toBeGreaterThan(0)

    time.now = (time.now + 8 * DAY_MICROS) as Micros
    const after = await follow('after')
    expect(after.find(({ type }) => type === 'resync')).toMatchObject({ reason: 'resume_too_old' })
    expect(sequences(after)).toEqual([last])
    expect(after.filter(({ type }) => type === 'trade')).toEqual([])
  })

  it('gets a resync when its rows are gone, too many, or never existed', async () => {
    const test = await start()
    await test.add(30)
    const client = await test.connect()
    const last = (await rowsByRest(test)).length
    client.send({ ...SUBSCRIBE, resume: { [KEY]: last + 5 } })
    expect(await client.next('resync')).toMatchObject({
      key: KEY,
      market_id: market,
      after_sequence: last + 5,
      reason: 'rebuilt',
    })
    expect(await client.next('snapshot')).toMatchObject({ sequence: last })
    await client.next('snapshots_done')
    client.send({ op: 'unsubscribe', id: 's' })
    client.send({ ...SUBSCRIBE, resume: { [KEY]: last } })
    await client.next('snapshots_done')
    expect(client.messages.filter(({ type }) => type === 'snapshot').length).toBe(1)
    client.send({ op: 'unsubscribe', id: 's' })
    client.send({ ...SUBSCRIBE, conflate_ms: 50, resume: { [KEY]: 1 } })
    expect(await client.next('snapshot')).toMatchObject({ sequence: last, previous_sequence: 1 })
    await test.store.seal()
    await test.store.retain(test.script.now + 1)
  })

  it('gets a resync when the tape is rebuilt', async () => {
    const test = await start()
    await test.add(40)
    const client = await test.connect()
    client.send(SUBSCRIBE)
    await client.next('snapshots_done')
    const before = lastOf(client)
    await test.store.seal()
    const file = `${test.path}/rebuilt.db`
    const rebuilt = openEmbeddedStore({ file })
    const script = new Script(5)
    await write(rebuilt, new ModelStore(script.books), script.take(30))
    await rebuilt.seal()
    const { lastSequence } = (await rebuilt.instrument({ venue, key: KEY }))!
    await rebuilt.close()
    await test.store.adopt(file, test.script.now)
    expect(await client.next('resync')).toMatchObject({
      after_sequence: before,
      reason: 'rebuilt',
    })
    expect(await client.next('snapshot')).toMatchObject({ sequence: lastSequence })
    expect(lastSequence).toBeLessThan(before)
  })

  it('continues on another server', async () => {
    const test = await start()
    await test.add(30)
    const client = await test.connect()
    client.send(SUBSCRIBE)
    await client.next('snapshots_done')
    const before = lastOf(client)
    const closing = test.server.close(2000)
    expect(await client.close()).toEqual({ code: 1001, reason: 'shutting_down' })
    await closing
    await test.add(20)
    const next = await createTestServer({ path: test.path, store: test.store })
    const { port } = await next.server.listen({ host: '127.0.0.1', port: 0 })
    const again = await new StreamClient(`ws://127.0.0.1:${port}/v3/stream`, {
      key: test.key,
    }).open()
    again.send({ ...SUBSCRIBE, resume: { [KEY]: before } })
    await again.next('snapshots_done')
    const { lastSequence } = (await test.store.instrument({ venue, key: KEY }))!
    const sequences = booksOf(again.messages).map(({ sequence }) => sequence as number)
    expect(sequences).toEqual(
      Array.from({ length: lastSequence - before }, (_, index) => before + index + 1),
    )
  })
})

it('a stalled reader is noticed behind kernel buffers, and resynced when it reads again', async () => {
  const clock = new ManualClock()
  const test = await start({ stream: { clock } })
  const client = await test.connect()
  client.send({ ...SUBSCRIBE, id: 'all', market_id: undefined, mode: 'full' })
  await client.next('snapshots_done')
  client.socket.pause()
  for (let round = 0; round < 400 && test.server.stream.pulse().held === 0; round++) {
    await test.add(10)
    await clock.advance(50)
  }
  for (let round = 0; round < 20; round++) {
    await test.add(3)
    await clock.advance(20)
  }
  client.socket.resume()
  await client.until(() => client.messages.some(({ type }) => type === 'resync'))
  const { lastSequence } = (await test.store.instrument({ venue, key: KEY }))!
  const keeper = new BookKeeper()
  await client.until(() => {
    for (const message of client.messages.splice(0)) keeper.apply(message)
    return keeper.sequences.get(KEY) === lastSequence
  })
  expect(keeper.holes).toEqual([])
  expect(keeper.resyncs[0]).toMatchObject({ reason: 'slow_reader' })
  const rows = await rowsByRest(test, lastSequence - 1)
  expect(keeper.textOf(KEY)).toBe(bookText(toBook(rows[0]!)))
})
