import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type VenueId } from '../../packages/sdk/src/domain/index.ts'
import {
  createClient,
  OrderBook,
  type LiveMessage,
  type PriorbookClient,
} from '../../packages/sdk/src/client/index.ts'
import { openAccess, type Access } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer, type ApiServer } from '../../packages/service/src/api/server.ts'
import { pause, start, type Running } from '../capture/harness.ts'
import { openFaultProxy, type FaultProxy } from './fault-proxy.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'

// Longer than it takes to find out that a connection is dead.
const PATIENCE_MS = 60_000
const CUTS = process.env['PRIORBOOK_FULL'] === '1' ? 100 : 12

let run: Running
let access: Access
let server: ApiServer
let proxy: FaultProxy
let client: PriorbookClient
let reader: Reader
/** What went wrong at the server or ended the stream, to be told where nothing comes any more. */
const trouble: string[] = []
/** Why the stream was given up, if it was. */
let refusal: unknown

async function serve(): Promise<string> {
  const note = (fields: object, message: string): void => {
    trouble.push(`${message} ${JSON.stringify(fields)}`)
  }
  const silent = (): void => undefined
  const log = { info: silent, warn: note, error: note }
  server = createApiServer({ store: run.store, access, log })
  return (await server.listen({ host: '127.0.0.1', port: 0 })).url
}

beforeAll(async () => {
  run = await start({ seed: 11, speed: 4 })
  const home = join(dirname(run.data.tape), 'access')
  mkdirSync(home)
  access = openAccess(home)
  proxy = await openFaultProxy(await serve())
  const { key } = access.keys.create({ plan: 'unlimited', name: 'test' })
  client = createClient({ url: proxy.url, key })
}, 180_000)

afterAll(async () => {
  await proxy.close()
  await server.close(500)
  access.close()
  await run.destroy()
})

/** A reader who keeps books and looks whether every row came. */
class Reader {
  readonly books = new Map<string, OrderBook>()
  readonly holes: LiveMessage[] = []
  readonly resyncs: LiveMessage[] = []
  /** Rows whose number does not follow, where nobody said so. */
  readonly skipped: string[] = []
  disconnects = 0
  rows = 0
  /** What came last, to be told where nothing comes any more. */
  last: string[] = []
  private readonly excused = new Set<string>()

  take(message: LiveMessage): void {
    const word = message.type === 'disconnected' ? message.reason : message.type
    this.last = [...this.last.slice(-20), `${Math.round(performance.now())}:${word}`]
    switch (message.type) {
      case 'snapshot':
      case 'update': {
        const name = `${message.row.venue} ${message.key}`
        const book = this.books.get(name) ?? new OrderBook(message.row.venue)
        const before = book.sequence
        const isNew = !this.books.has(name) || this.excused.delete(name)
        this.books.set(name, book)
        this.rows++
        if (!book.apply(message)) this.skipped.push(`${name} ${message.sequence} not applied`)
        if (!isNew && book.sequence !== before + 1) {
          this.skipped.push(`${name} ${before} ${book.sequence}`)
        }
        break
      }
      case 'hole':
        this.holes.push(message)
        break
      case 'resync':
        this.resyncs.push(message)
        this.excused.add(`${message.venue} ${message.key}`)
        break
      case 'disconnected':
        this.disconnects++
        break
      default:
        break
    }
  }
}

describe('a live stream through cuts and a restart', () => {
  it('holds the books of the store and misses nothing', async () => {
    const stop = new AbortController()
    reader = new Reader()
    const subscriptions = EMULATED_VENUES.map((venue) => ({
      venue,
      mode: 'changes' as const,
      number_format: 'string' as const,
    }))
    const following = (async () => {
      const options = { signal: stop.signal, retry: { baseDelayMs: 5, maxDelayMs: 50 } }
      for await (const message of client.live(subscriptions, options)) reader.take(message)
    })()
    refusal = undefined
    following.catch((error: unknown) => (refusal = error))
    try {
      for (let cut = 0; cut < CUTS; cut++) {
        const rows = reader.rows
        await until(() => reader.rows > rows && proxy.sockets() > 0, `rows before cut ${cut}`)
        await pause(40 + (cut % 5) * 30)
        proxy.cut()
        if (cut !== Math.floor(CUTS / 2)) continue
        await server.close(200)
        proxy.target(await serve())
      }
      await pause(300)
      await run.stop()
      const wanted = await newest()
      expect(wanted.size).toBeGreaterThan(15)
      await until(
        () =>
          [...wanted].every(
            ([name, sequence]) => (reader.books.get(name)?.sequence ?? 0) >= sequence,
          ),
        'newest rows',
      )
      expect(reader.disconnects).toBeGreaterThanOrEqual(CUTS)
      expect([reader.holes, reader.skipped]).toEqual([[], []])
      // The emulated hour is short enough for everything to be resumed.
      expect(reader.resyncs).toEqual([])
      let compared = 0
      for (const [name, sequence] of wanted) {
        const [venue, key] = name.split(' ') as [VenueId, string]
        const facts = await run.store.instrument({ venue, key })
        const market = client.market({ venue, market_id: facts!.instrument.market })
        const { data } = await market.latest({ number_format: 'string' })
        const row = data.find((one) => one.id === `${venue}:${key}:${sequence}`)!
        const { bids, asks } = reader.books.get(name)!.toJSON()
        // Of venue B the routes and the stream serve the best hundred levels.
        expect([name, bids, asks]).toEqual([name, row.bids, row.asks])
        compared++
      }
      expect(compared).toBe(wanted.size)
    } finally {
      stop.abort()
      await following
    }
  }, 300_000)

  it('says why it is refused', async () => {
    const wrong = createClient({ url: proxy.url, key: 'pb_live_wrong', retries: 0 })
    await expect(drain(wrong.live({ venue: 'venueb' }))).rejects.toMatchObject({
      reason: 'unauthenticated',
      errorCode: 'invalid_key',
    })
    const nothing = client.live({ venue: 'venueb', market_id: 'KXNONE' })
    await expect(drain(nothing)).rejects.toMatchObject({ reason: 'unknown_market' })
    const { id, key } = access.keys.create({ plan: 'unlimited', name: 'short' })
    const short = createClient({ url: proxy.url, key })
    const followed = drain(short.live({ venue: 'venuec' }), (message) => {
      if (message.type === 'snapshots_done') access.keys.revoke(id)
    })
    await expect(followed).rejects.toMatchObject({ code: 'stream_refused', reason: 'revoked' })
  })
})

/** The last sequence of every instrument that is still open, by name. */
async function newest(): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  const now = Date.now() * 1000
  for (const venue of EMULATED_VENUES) {
    for (const { instrument, lastSequence } of await run.store.instruments(venue)) {
      const state = await run.store.market(venue, instrument.market)
      if ((state?.record.closeTime ?? Infinity) < now) continue
      found.set(`${venue} ${instrument.key}`, lastSequence)
    }
  }
  return found
}

async function until(isDone: () => boolean, what: string): Promise<void> {
  const begin = performance.now()
  while (!isDone()) {
    await pause(20)
    if (refusal !== undefined) throw refusal
    if (performance.now() - begin < PATIENCE_MS) continue
    const { connections, subscriptions, instruments } = server.stream.pulse()
    const place = JSON.stringify({ connections, subscriptions, instruments, ...proxy.done })
    const words = [...reader.last, ...trouble].join(' ')
    throw new Error(`no ${what}: ${proxy.sockets()} sockets, ${place}, ${words}`)
  }
}

async function drain(
  messages: AsyncIterable<LiveMessage>,
  look: (message: LiveMessage) => void = () => {},
): Promise<void> {
  for await (const message of messages) look(message)
}
