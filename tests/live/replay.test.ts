import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { makeMarket } from '../../packages/service/src/api/bulk/generated-market.testing.ts'
import { createTestServer } from '../../packages/service/src/api/server.testing.ts'
import {
  createTestFolder,
  type TestFolder,
} from '../../packages/service/src/derive/import.testing.ts'
import {
  openEmbeddedStore,
  type EmbeddedStore,
} from '../../packages/service/src/store/embedded/open.ts'
import { rowText, StreamClient, type StreamSeen } from './replay-client.ts'

const recordings = process.env['PRIORBOOK_RECORDINGS'] ?? ''
if (recordings === '') {
  console.warn('recorded markets are skipped: set PRIORBOOK_RECORDINGS to the folder of recordings')
}

// The busiest one has two gaps and eight times the rows.
const isFull = process.env['PRIORBOOK_FULL'] === '1'
const TICKER = isFull ? 'KXGOLD15M-26AUG102130-30' : 'KXGOLD15M-26AUG101900-00'

// A whole market of 200,000 rows is read several times by a client in this process.
const OPTIONS = { timeout: isFull ? 600_000 : 60_000 }

describe('a replay of a generated market over a socket', OPTIONS, () => {
  describeReplay(async (folder) => {
    const store = openEmbeddedStore({ file: folder.data.tape })
    for (const batch of makeMarket(6000)) await store.append(batch)
    await store.seal()
    await store.close()
  })
})

describe.skipIf(recordings === '')('a replay of a recorded market over a socket', OPTIONS, () => {
  describeReplay(async (folder) => {
    await folder.importPaths(join(recordings, 'venueb/ws-gold15m', TICKER))
  })
})

type Market = {
  readonly ticker: string
  readonly first: number
  readonly last: number
  readonly rows: number
}

function describeReplay(fill: (folder: TestFolder) => Promise<void>): void {
  let folder: TestFolder
  let store: EmbeddedStore
  let market: Market
  beforeAll(async () => {
    folder = createTestFolder()
    await fill(folder)
    store = openEmbeddedStore({ file: folder.data.tape, readOnly: true })
    const facts = (await store.instruments('venueb')).toSorted(
      (a, b) => b.lastSequence - a.lastSequence,
    )[0]!
    market = {
      ticker: facts.instrument.market,
      first: facts.firstReceived,
      last: facts.lastReceived,
      rows: facts.lastSequence,
    }
  }, 120_000)
  afterAll(async () => {
    await store.close()
    folder.destroy()
  })

  const connect = async (): Promise<{ client: StreamClient; url: string; key: string }> => {
    const { server, keyOf } = await createTestServer({ store })
    const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
    const key = keyOf('unlimited')
    const client = await StreamClient.open(url, key)
    onTestFinished(() => client.close())
    return { client, url, key }
  }
  const replayOf = (id: string, more: object = {}) => ({
    id,
    markets: [{ venue: 'venueb', market_id: market.ticker }],
    start_time: market.first,
    end_time: market.last + 1,
    speed: 'max',
    ...more,
  })
  const booksOf = (seen: readonly StreamSeen[]): StreamSeen[] =>
    seen.filter(({ type }) => type === 'snapshot' || type === 'update')

  it('at full speed is the walk over the pages, row by row, and twice the same', async () => {
    const { client, url, key } = await connect()
    const finished = await client.play(replayOf('a'))
    const books = booksOf(client.of('a'))
    expect(books).toHaveLength(market.rows)
    let cursor: string | null = ''
    let at = 0
    const differences: string[] = []
    while (cursor !== null) {
      const more: string = cursor === '' ? '' : `&cursor=${cursor}`
      const page: string = await fetch(
        `${url}/v3/venueb/${market.ticker}/snapshots?include_orderbook=true&limit=1000${more}`,
        { headers: { authorization: `Bearer ${key}` } },
      ).then((answer) => answer.text())
      const text = page.slice('{"data":['.length, page.indexOf('],"meta":{"count":'))
      const { data, pagination } = JSON.parse(page) as Page
      const rows = books.slice(at, at + data.length)
      if (rows.map(rowText).join(',') !== text) differences.push(`the page at row ${at}`)
      at += data.length
      cursor = pagination.next_cursor
    }
    expect(differences).toEqual([])
    expect(at).toBe(market.rows)
    const sent = client.of('a').filter(({ type }) => type !== 'gap' && type !== 'market')
    const hash = createHash('sha256')
    for (const { row } of sent) hash.update(`${String(row!['id'])}\n`)
    expect(finished).toMatchObject({ rows: sent.length, ids_sha256: hash.digest('hex') })
    const again = await client.play(replayOf('b', { mode: 'changes' }))
    expect(again.ids_sha256).toBe(finished.ids_sha256)
    expect(again.rows).toBe(finished.rows)
  })

  it('at ten times the pace keeps the time of the recording', async () => {
    const { client } = await connect()
    // Twenty recorded seconds in the middle, where rows are.
    const start = market.first + Math.floor((market.last - market.first) / 3)
    const range = { start_time: start, end_time: start + 20e6, datasets: ['books'] }
    await client.play(replayOf('warm', { ...range, speed: 'max' }))
    const finished = await client.play(replayOf('a', { ...range, speed: 10 }))
    const books = booksOf(client.of('a'))
    expect(books.length).toBe(finished.rows)
    expect(books.length).toBeGreaterThan(20)
    // The clock runs from when the first rows are at hand; the row that was least late tells when.
    const came = books.map(({ row, cameMs }) => {
      return cameMs - (microsOf(row!['received_time']) - start) / 10_000
    })
    const least = Math.min(...came)
    const errors = came.map((time) => time - least).sort((x, y) => x - y)
    const at = (share: number): number => errors[Math.floor((errors.length - 1) * share)]!
    console.log(
      `pacing error at ×10 over ${errors.length} rows, in ms: median ${at(0.5).toFixed(1)}, ` +
        `p99 ${at(0.99).toFixed(1)}, most ${at(1).toFixed(1)}`,
    )
    // How late they are is the machine's load; but they come over two seconds, not at once.
    const last = books.at(-1)!.cameMs - books[0]!.cameMs
    expect(last).toBeGreaterThan(
      (microsOf(books.at(-1)!.row!['received_time']) - start) / 10_000 / 2,
    )
  })

  it('lands on the row at or after the time that is sought, with a whole book', async () => {
    const { client } = await connect()
    await client.play(replayOf('whole', { datasets: ['books'] }))
    const books = booksOf(client.of('whole'))
    for (const [index, share] of [0.1, 0.5, 0.93].entries()) {
      const target = books[Math.floor(books.length * share)]!
      const time = microsOf(target.row!['received_time']) - 1
      const wanted = books.find(({ row }) => microsOf(row!['received_time']) >= time)!
      const id = `s${index}`
      client.send({ op: 'replay', ...replayOf(id, { speed: 0.001, datasets: ['books'] }) })
      await client.until(({ replay, state }) => replay === id && state === 'started')
      client.send({ op: 'pause', id })
      await client.until(({ replay, state }) => replay === id && state === 'paused')
      client.send({ op: 'seek', id, time })
      const sought = await client.until(({ replay, state }) => replay === id && state === 'sought')
      expect(microsOf(sought.time)).toBe(time)
      client.send({ op: 'resume', id })
      const isAfter = (seen: StreamSeen): boolean =>
        seen.replay === id &&
        seen.type === 'snapshot' &&
        client.messages.indexOf(seen) > client.messages.indexOf(sought)
      const first = await client.until(isAfter)
      expect(rowText(first)).toBe(rowText(wanted))
      expect(first.previous_sequence).toBe(null)
      client.send({ op: 'stop', id })
      await client.until(({ replay, state }) => replay === id && state === 'stopped')
    }
  })

  it('runs beside another one, each in its order', async () => {
    const { client } = await connect()
    const [one, two] = await Promise.all([
      client.play(replayOf('one')),
      client.play(replayOf('two', { mode: 'changes', number_format: 'string' })),
    ])
    expect(one.ids_sha256).toBe(two.ids_sha256)
    const turns = client.messages.filter(
      ({ replay }, at) => replay !== undefined && replay !== client.messages[at - 1]?.replay,
    )
    expect(turns.length).toBeGreaterThan(4)
    for (const id of ['one', 'two']) {
      const sequences = booksOf(client.of(id)).map(({ sequence }) => sequence!)
      expect(sequences.every((sequence, at) => at === 0 || sequence > sequences[at - 1]!)).toBe(
        true,
      )
    }
  })

  it('waits for a reader that pauses, without losing a row', async () => {
    const { client } = await connect()
    client.send({ op: 'replay', ...replayOf('a') })
    await client.until(({ type }) => type === 'snapshot')
    client.pause()
    await new Promise((resolve) => setTimeout(resolve, 300))
    client.resume()
    const finished = await client.until(({ state }) => state === 'finished')
    expect(booksOf(client.of('a'))).toHaveLength(market.rows)
    expect(finished.rows).toBe(client.of('a').filter(({ row }) => row?.['id'] !== undefined).length)
  })

  it('says what cannot be replayed and goes on', async () => {
    const { client } = await connect()
    client.send({
      op: 'replay',
      ...replayOf('a', { markets: [{ venue: 'venueb', market_id: 'NO' }] }),
    })
    const error = await client.until(({ type }) => type === 'error')
    expect(error).toMatchObject({ code: 'unknown_market', id: 'a' })
    await client.play(replayOf('b', { datasets: ['markets'] }))
    client.send({ op: 'seek', id: 'b', time: market.first })
    await expect(
      client.until(({ type, code }) => type === 'error' && code === 'unknown_id'),
    ).resolves.toMatchObject({ id: 'b' })
  })
}

type Page = {
  readonly data: readonly unknown[]
  readonly pagination: { readonly next_cursor: string | null }
}

function microsOf(text: unknown): number {
  const iso = String(text)
  return Date.parse(iso) * 1000 + Number(iso.slice(23, 26))
}
