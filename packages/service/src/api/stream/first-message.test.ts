import { parsePrice, parseSize, VENUES, type Gap, type Micros } from '@priorbook/sdk/domain'
import { BookAssembler, type Observation } from '@priorbook/sdk/tape'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRecord, INSTRUMENTS } from '../../store/store-script.testing.ts'
import type { AppendBatch } from '../../store/store.ts'
import { createTestServer } from '../server.testing.ts'
import { StreamClient, type AnyMessage } from './stream.testing.ts'

const INSTRUMENT = INSTRUMENTS[1]!
const { venue, market, key: KEY } = INSTRUMENT
const { priceDecimals, sizeDecimals } = VENUES[venue]

/** A server over a store that a test appends to, with one market that has no rows yet. */
async function start() {
  const test = await createTestServer()
  const { port } = await test.server.listen({ host: '127.0.0.1', port: 0 })
  const begun = Date.now() * 1000
  let journal = 0
  let time = begun
  const assembler = new BookAssembler(INSTRUMENT)
  const next = () => ({ received: (time += 1000) as Micros, journal: ++journal })
  const append = async (batch: Partial<AppendBatch>): Promise<void> => {
    const own = { venue, origin: 'live', recorder: 'r1', normalizer: 1 } as const
    await test.store.append({ ...own, ...batch, position: ++journal })
  }
  const book = (): Observation => {
    const price = parsePrice('0.4', priceDecimals)
    const bids = [{ price, size: parseSize(String(journal + 1), sizeDecimals) }]
    const event = { kind: 'snapshot', instrument: INSTRUMENT, bids, asks: [], ...next() } as const
    const taken = assembler.take(event)
    if (!('received' in taken)) throw new Error(taken.detail)
    return taken
  }
  const trade = (id: string) => ({
    kind: 'trade' as const,
    instrument: INSTRUMENT,
    tradeId: id,
    price: parsePrice('0.4', priceDecimals),
    size: parseSize('1', sizeDecimals),
    ...next(),
  })
  const times = { openTime: begun as Micros, closeTime: (begun + 3_600_000_000) as Micros }
  await append({
    revisions: [{ kind: 'market', record: createRecord(INSTRUMENT, '1', times), ...next() }],
  })
  const url = `ws://127.0.0.1:${port}/v3/stream`
  const client = await new StreamClient(url, { key: test.keyOf('unlimited') }).open()
  await client.next('welcome')
  const resolve = (): Promise<void> => {
    const record = createRecord(INSTRUMENT, '1', { ...times, status: 'resolved' })
    return append({ revisions: [{ kind: 'market', record, ...next() }] })
  }
  return { append, book, trade, next, client, resolve, plans: test.access.plans }
}

/** The messages about the instrument itself, by type. */
function kindsOf(messages: readonly AnyMessage[]): readonly string[] {
  const kinds = new Set(['snapshot', 'update', 'trade', 'gap', 'resync'])
  return messages.filter(({ type }) => kinds.has(type)).map(({ type }) => type)
}

const has = (client: StreamClient, type: string) => (): boolean =>
  client.messages.some((message) => message.type === type)

describe('nothing of an instrument comes before its snapshot', () => {
  it.each([
    ['every row', {}],
    ['conflated rows', { conflate_ms: 2000 }],
  ])('not a trade that was stored before the first book, with %s', async (_, more) => {
    const { client, append, book, trade } = await start()
    client.send({ op: 'subscribe', id: 's', venue, ...more })
    await client.next('snapshots_done')
    await append({ trades: [trade('t1')] })
    await new Promise((resolve) => setTimeout(resolve, 100))
    await append({ observations: [book()], trades: [trade('t2')] })
    await client.until(() => kindsOf(client.messages).length >= 3)
    expect(kindsOf(client.messages)).toEqual(['snapshot', 'trade', 'trade'])
    const ids = client.messages.flatMap(({ row }) => (row as { trade_id?: string })?.trade_id ?? [])
    expect(ids).toEqual(['t1', 't2'])
  })

  it('not the gap before its first book', async () => {
    const { client, append, book, next } = await start()
    client.send({ op: 'subscribe', id: 's', venue })
    await client.next('snapshots_done')
    const { received: opened, journal } = next()
    const first = book()
    const gap: Gap = {
      venue,
      scope: 'instrument',
      key: KEY,
      reason: 'late_discovery',
      start: opened,
      end: first.received as Micros,
      afterSequence: 0,
      journal,
    }
    await append({ observations: [first, book()], gaps: [gap] })
    await client.until(() => kindsOf(client.messages).length >= 3)
    expect(kindsOf(client.messages)).toEqual(['snapshot', 'gap', 'update'])
  })

  it('not the trades that a client resumes without a book', async () => {
    const { client, append, book, trade } = await start()
    await append({ observations: [book()], trades: [trade('t1'), trade('t2'), trade('t3')] })
    client.send({
      op: 'subscribe',
      id: 's',
      venue,
      market_id: market,
      resume: { [`${KEY}/trade`]: 1 },
    })
    await client.until(has(client, 'snapshots_done'))
    expect(kindsOf(client.messages)).toEqual(['snapshot', 'trade', 'trade'])
  })

  it('but trades alone do not wait for a book', async () => {
    const { client, append, trade } = await start()
    client.send({ op: 'subscribe', id: 's', venue, datasets: ['trades'] })
    await client.next('snapshots_done')
    await append({ trades: [trade('t1')] })
    await client.until(has(client, 'trade'))
    expect(kindsOf(client.messages)).toEqual(['trade'])
  })
})

it('subscribed is the first message of a subscription, snapshots_done follows its snapshots', async () => {
  const { client, append, book } = await start()
  await append({ observations: [book()] })
  for (let round = 0; round < 20; round++) {
    const before = client.messages.length
    const writing = append({ observations: [book()] })
    client.send({ op: 'subscribe', id: `s${round}`, venue })
    await client.until(() =>
      client.messages.slice(before).some(({ type }) => type === 'snapshots_done'),
    )
    await writing
    const types = client.messages.slice(before).map(({ type }) => type)
    expect(types[0]).toBe('subscribed')
    expect(types.indexOf('market')).toBeLessThan(types.indexOf('snapshot'))
    expect(types.indexOf('snapshot')).toBeLessThan(types.indexOf('snapshots_done'))
    client.send({ op: 'unsubscribe', id: `s${round}` })
    await client.until(() => client.messages.at(-1)!.type === 'unsubscribed')
  }
})

describe('a client that comes back after a market is over', () => {
  const RESUME = { op: 'subscribe', id: 's', venue, resume: { [KEY]: 1 } }

  async function endMarket() {
    const all = await start()
    await all.append({ observations: [all.book()] })
    await all.append({ observations: [all.book()] })
    await all.resolve()
    const terms = all.plans.find('unlimited')!.stream
    const before = { ...terms }
    onTestFinished(() => void Object.assign(terms, before))
    return { ...all, terms }
  }

  it('gets the rows that it missed', async () => {
    const { client } = await endMarket()
    client.send(RESUME)
    await client.next('snapshots_done')
    const rows = client.messages.filter(({ type }) => type === 'update' || type === 'snapshot')
    expect(rows).toMatchObject([{ type: 'update', sequence: 2, previous_sequence: 1 }])
  })

  it('does not need room for them', async () => {
    const { client, terms } = await endMarket()
    Object.assign(terms, { instruments: 0 })
    client.send(RESUME)
    await client.next('snapshots_done')
    expect(client.messages.some(({ type }) => type === 'error' || type === 'update')).toBe(false)
  })

  it('may name the market in another subscription', async () => {
    const { client, terms } = await endMarket()
    Object.assign(terms, { instruments: 1 })
    client.send(RESUME)
    client.send({ op: 'subscribe', id: 't', venue, market_id: market, resume: { [KEY]: 1 } })
    await client.until(
      () => client.messages.filter(({ type }) => type === 'snapshots_done').length === 2,
    )
    expect(client.messages.filter(({ type }) => type === 'error')).toEqual([])
    const rows = client.messages.filter(({ type }) => type === 'update')
    expect(new Set(rows.map(({ sequence }) => sequence))).toEqual(new Set([2]))
  })
})
