import { VENUES, type VenueId } from '@priorbook/sdk/domain'
import { expect, it, onTestFinished } from 'vitest'
import { createClient, OrderBook } from '../../packages/sdk/src/client/index.ts'
import { BookKeeper } from '../../packages/service/src/api/stream/book-keeper.testing.ts'
import { StreamClient } from '../../packages/service/src/api/stream/stream.testing.ts'
import { countOf } from '../capture/emulated-home.ts'
import { pause, start } from '../capture/harness.ts'
import { bookOf, ladderText } from './book-text.ts'
import { startCutProxy } from './cut-proxy.ts'
import { LiveApi } from './live-api.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'

// Whole books where the venue sends only those.
const modeOf = (venue: VenueId): 'full' | 'changes' =>
  VENUES[venue].bookRules.order === 'none' ? 'full' : 'changes'

/** One reader of everything, with a book-keeper for each venue that outlives its connections. */
class Reader {
  readonly keepers = Object.fromEntries(
    EMULATED_VENUES.map((venue) => [venue, new BookKeeper()]),
  ) as Readonly<Record<VenueId, BookKeeper>>
  private client: StreamClient | undefined
  private isFirst = true

  async connect(url: string, key: string): Promise<void> {
    const client = new StreamClient(`${url.replace('http', 'ws')}/v3/stream`, { key })
    await client.open()
    this.client = client
    for (const venue of EMULATED_VENUES) {
      const { sequences, trades } = this.keepers[venue]
      const resume = Object.fromEntries([
        ...sequences,
        ...[...trades].map(([name, last]) => [`${name}/trade`, last] as const),
      ])
      const more = this.isFirst ? {} : { resume }
      client.send({ op: 'subscribe', id: venue, venue, mode: modeOf(venue), ...more })
    }
    this.isFirst = false
  }

  /** Takes what has come; `key` says whose it is. */
  take(): void {
    for (const message of this.client?.messages.splice(0) ?? []) {
      if (message.type === 'error') throw new Error(JSON.stringify(message))
      const gap = message['gap'] as { venue: VenueId } | undefined
      const row = message['row'] as { venue: VenueId } | undefined
      const venue = gap?.venue ?? row?.venue ?? (message['venue'] as VenueId | undefined)
      if (venue !== undefined) this.keepers[venue].apply(message)
    }
  }

  /** Loses the connection without a word, or is closed by the server. */
  async lose(): Promise<void> {
    this.client?.socket.terminate()
    await this.client?.close()
    this.take()
  }

  get isClosed(): boolean {
    return this.client?.closed !== undefined
  }
}

/** A reader that uses the SDK, which reconnects and resumes by itself. */
class SdkReader {
  readonly books = new Map<string, OrderBook>()
  readonly told: string[] = []
  disconnects = 0
  private readonly controller = new AbortController()

  async follow(url: string, key: string): Promise<void> {
    const client = createClient({ url, key })
    const { signal } = this.controller
    const subscriptions = EMULATED_VENUES.map((venue) => ({ venue, mode: modeOf(venue) }))
    const retry = { baseDelayMs: 5, maxDelayMs: 50 }
    for await (const message of client.live(subscriptions, { retry, signal })) {
      if (message.type === 'disconnected') this.disconnects++
      if (message.type === 'hole' || message.type === 'resync' || message.type === 'error') {
        this.told.push(JSON.stringify(message))
      }
      if (message.type !== 'snapshot' && message.type !== 'update') continue
      const { key: name, row } = message
      let book = this.books.get(name)
      if (book === undefined) this.books.set(name, (book = new OrderBook(row.venue)))
      book.apply(message)
    }
  }

  stop(): void {
    this.controller.abort()
  }

  textOf(key: string): string {
    const { ladder, sizeDecimals } = this.books.get(key)!
    return ladderText(ladder, sizeDecimals)
  }
}

it('books of a reader equal those of the store through lost connections and a restart', async () => {
  const run = await start({ seed: 11, speed: 10 })
  onTestFinished(() => run.destroy())
  while ((await run.store.instruments()).length < 6) await pause(50)
  const api = new LiveApi(run.data.tape)
  const workers = [await api.start(), await api.start()]
  const reader = new Reader()
  const proxy = await startCutProxy(workers[1]!.port)
  const sdk = new SdkReader()
  const following = sdk.follow(proxy.url, api.key)
  onTestFinished(async () => {
    sdk.stop()
    await following
  })
  const begun = Date.now() * 1000
  await reader.connect(workers[0]!.url, api.key)
  const losses = countOf(50, 12)
  for (let loss = 1; loss <= losses; loss++) {
    await pause(40 + ((loss * 37) % 200))
    // Some connections are lost before their snapshots or missed rows have all come.
    if (loss % 4 === 0) await pause(400)
    reader.take()
    // The log is packed and gone before its followers have read all of it.
    if (loss % 3 === 0) await run.store.seal()
    if (loss === Math.floor(losses / 2)) {
      const { port } = workers[0]!
      await workers[0]!.close()
      await pause(100)
      workers[0] = await api.start(port)
    }
    proxy.target = workers[loss % 2]!.port
    proxy.cut()
    await reader.lose()
    await reader.connect(workers[loss % 2]!.url, api.key)
  }
  await run.stop()
  const isComplete = async (): Promise<boolean> => {
    reader.take()
    for (const { instrument, lastSequence } of await run.store.instruments()) {
      const { sequences } = reader.keepers[instrument.venue]
      const has = sequences.get(instrument.key)
      if (has !== undefined && has !== lastSequence) return false
      const book = sdk.books.get(instrument.key)
      if (book !== undefined && book.sequence !== lastSequence) return false
    }
    return true
  }
  for (let round = 0; round < 200 && !(await isComplete()); round++) await pause(50)
  await pause(100)
  reader.take()

  let rows = 0
  for (const { instrument, lastSequence, lastReceived } of await run.store.instruments()) {
    const { venue, key } = instrument
    const keeper = reader.keepers[venue]
    const seen = keeper.seen.get(key) ?? []
    // What ended before the reader came is not live.
    expect([key, seen.length > 0 || lastReceived < begun + 2_000_000]).toEqual([key, true])
    if (seen.length === 0) continue
    const first = seen[0]!
    const wanted = Array.from({ length: lastSequence - first + 1 }, (_, row) => first + row)
    expect([key, seen]).toEqual([key, wanted])
    expect([key, keeper.textOf(key)]).toEqual([key, await bookOf(run.store, venue, key)])
    rows += seen.length
    if (!sdk.books.has(key)) continue
    expect([key, sdk.books.get(key)!.sequence]).toEqual([key, lastSequence])
    expect([key, sdk.textOf(key)]).toEqual([key, await bookOf(run.store, venue, key)])
  }
  expect(rows).toBeGreaterThan(300)
  expect(sdk.told).toEqual([])
  expect(sdk.disconnects).toBeGreaterThan(losses / 2)
  expect(sdk.books.size).toBeGreaterThan(10)
  for (const venue of EMULATED_VENUES) {
    const keeper = reader.keepers[venue]
    expect(keeper.holes).toEqual([])
    expect(keeper.resyncs).toEqual([])
    const told = keeper.gaps.map(({ gap }) => JSON.stringify(gap))
    for (const gap of await run.store.gaps({ venue })) {
      const first = keeper.seen.get(gap.key)?.[0]
      if (first === undefined || gap.afterSequence < first) continue
      const name = `"key":"${gap.key}","reason":"${gap.reason}"`
      const place = `"after_sequence":${gap.afterSequence}`
      expect([gap, told.some((text) => text.includes(name) && text.includes(place))]).toEqual([
        gap,
        true,
      ])
    }
    // The recorder stopped: everything that is open misses something from then on.
    expect(keeper.gaps.length).toBeGreaterThan(0)
  }
  for (const { errors } of workers) expect(errors).toEqual([])
})
