import { setTimeout as pause } from 'node:timers/promises'
import { VENUES, type VenueId } from '@priorbook/sdk/domain'
import {
  createClient,
  IncompleteWalkError,
  OrderBook,
} from '../../packages/sdk/src/client/index.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'
import { createRandom } from '../../packages/emulator/src/world/random.ts'
import type { EmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { bookOf, ladderText } from '../live/book-text.ts'
import type { ChaosService } from './chaos-service.ts'

const RETRY = { baseDelayMs: 50, maxDelayMs: 500 }

/** Walks over random markets, page by page, whatever happens to the service meanwhile. */
export class PageReader {
  walks = 0
  rows = 0
  /** Walks whose rows were not those of their receipt, or came in a wrong order. */
  readonly wrong: string[] = []
  /** Walks that failed although the service ran all the time. */
  readonly failed: string[] = []
  readonly #service: ChaosService
  readonly #key: string

  constructor(service: ChaosService, key: string) {
    this.#service = service
    this.#key = key
  }

  async run(signal: AbortSignal): Promise<void> {
    const client = createClient({ url: this.#service.url, key: this.#key })
    const random = createRandom('pages')
    while (!signal.aborted) {
      const from = Date.now()
      try {
        const { value: page } = await client.markets({ limit: 200 }).pages().next()
        const markets = page?.data ?? []
        const market = markets[random.int(Math.max(1, markets.length))]
        if (market === undefined) await pause(500)
        else await this.#walk(client.market(market).snapshots({ limit: 500 }, { signal }))
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof IncompleteWalkError) this.wrong.push(error.message)
        else if (this.#service.wasUp(from, Date.now())) this.failed.push(String(error))
        await pause(200)
      }
    }
  }

  async #walk(
    walk: AsyncIterable<{ readonly id: string; readonly received_time: unknown }>,
  ): Promise<void> {
    let last = ''
    for await (const { id, received_time: received } of walk) {
      if (String(received) < last) this.wrong.push(`${id}: ${String(received)} after ${last}`)
      last = String(received)
      this.rows++
    }
    this.walks++
  }
}

const PROBES = ['/v3/health', '/v3/markets?limit=50', '/v3/gaps?limit=50', '/v3/coverage'] as const

/** Asks small questions all the time, and takes note of answers that are failures of the service. */
export class Prober {
  answered = 0
  readonly times: number[] = []
  /** Status 500 or more, or no answer, although the service ran. */
  readonly failed: string[] = []

  async run(service: ChaosService, key: string, signal: AbortSignal): Promise<void> {
    const headers = { authorization: `Bearer ${key}` }
    for (let turn = 0; !signal.aborted; turn++) {
      const path = PROBES[turn % PROBES.length]!
      const from = Date.now()
      const begun = performance.now()
      let status: number | string
      try {
        const answer = await fetch(service.url + path, { headers, signal })
        await answer.arrayBuffer()
        ;({ status } = answer)
      } catch (error) {
        status = String(error)
      }
      const isFailure = typeof status === 'string' || status >= 500
      if (!isFailure) {
        this.answered++
        this.times.push(performance.now() - begun)
      } else if (!signal.aborted && service.wasUp(from, Date.now())) {
        this.failed.push(`${path}: ${status}`)
      }
      await pause(100)
    }
  }
}

/** Follows all venues live with the SDK, which reconnects and resumes by itself. */
export class LiveReader {
  readonly books = new Map<string, { readonly venue: VenueId; readonly book: OrderBook }>()
  rows = 0
  disconnects = 0
  resyncs = 0
  /** Rows that are missing without a word. */
  readonly holes: string[] = []
  readonly errors: string[] = []
  readonly #last = new Map<string, number>()
  readonly #announced = new Set<string>()

  async run(service: ChaosService, key: string, signal: AbortSignal): Promise<void> {
    const client = createClient({ url: service.url, key })
    const subscriptions = EMULATED_VENUES.map((venue) => ({
      venue,
      // Whole books where the venue sends only those.
      mode: VENUES[venue].bookRules.order === 'none' ? ('full' as const) : ('changes' as const),
    }))
    for await (const message of client.live(subscriptions, { retry: RETRY, signal })) {
      if (message.type === 'disconnected') this.disconnects++
      else if (message.type === 'error') this.errors.push(JSON.stringify(message))
      else if (message.type === 'hole') this.holes.push(JSON.stringify(message))
      else if (message.type === 'resync') {
        this.resyncs++
        if ('key' in message) this.#announced.add(message.key)
      } else if (message.type === 'snapshot' || message.type === 'update') {
        const { key: name, row, sequence, previous_sequence: previous } = message
        this.rows++
        const last = this.#last.get(name)
        const isNew = last === undefined || this.#announced.delete(name)
        if (!isNew && previous !== last) {
          this.holes.push(`${name}: ${sequence} says after ${previous}, not ${last}`)
        }
        this.#last.set(name, sequence)
        let held = this.books.get(name)
        if (held === undefined) {
          this.books.set(name, (held = { venue: row.venue, book: new OrderBook(row.venue) }))
        }
        held.book.apply(message)
      }
    }
  }

  /** The books that are not those of the store, once all rows have come. */
  async differences(store: EmbeddedStore, patienceMs: number): Promise<string[]> {
    const deadline = Date.now() + patienceMs
    const behind = async (): Promise<string[]> => {
      const late: string[] = []
      for (const [key, { venue, book }] of this.books) {
        const facts = await store.instrument({ venue, key })
        if (facts?.lastSequence !== book.sequence) {
          late.push(`${key}: at ${book.sequence} of ${facts?.lastSequence}`)
        }
      }
      return late
    }
    let late = await behind()
    while (late.length > 0 && Date.now() < deadline) {
      await pause(200)
      late = await behind()
    }
    const wrong: string[] = []
    for (const [key, { venue, book }] of this.books) {
      if (late.some((text) => text.startsWith(`${key}:`))) continue
      const text = ladderText(book.ladder, book.sizeDecimals)
      if (text !== (await bookOf(store, venue, key))) wrong.push(`${key}: another book`)
    }
    return [...late, ...wrong]
  }
}
