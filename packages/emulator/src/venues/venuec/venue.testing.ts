import { parseScaled } from '@priorbook/sdk/domain'
import type {
  Book,
  Payload,
  Proposition,
  Session,
  Upstream,
  UpstreamRequest,
} from '../../core/upstream.ts'
import { createTestWire, createTestWorld, ladder, type TestWorld } from '../venuea/world.testing.ts'
import { EMULATED_VENUE_C } from './index.ts'

/** A venue over a world that tests move. */
export type TestVenue = {
  readonly world: TestWorld
  readonly upstream: Upstream
  get(path: string, query?: Record<string, string> | [string, string][]): TestAnswer
  post(path: string, body: string): TestAnswer
  /** Connects and says the first message. */
  connect(first?: object): TestClient
  /** Lists a market and opens it with a ladder. */
  open(): Proposition
  tokens(proposition: Proposition): [string, string]
}

/** An answer, read. */
type TestAnswer = {
  readonly status: number
  readonly value: unknown
  readonly payloads: readonly Payload[]
  readonly bucket: string | undefined
}

/** A connected client of the market channel. */
type TestClient = {
  readonly wire: ReturnType<typeof createTestWire>
  readonly session: Session
  readonly say: (message: object) => void
}

/** Creates a venue and its world. */
export function createTestVenue(speed = 1): TestVenue {
  const world = createTestWorld('venuec')
  const upstream = EMULATED_VENUE_C.create(world, { speed, credentials: {} })
  world.listen((event) => upstream.onEvent(event))

  function ask(request: UpstreamRequest): TestAnswer {
    const { status, body, payloads = [], bucket } = upstream.answer(request)
    return { status, value: JSON.parse(body) as unknown, payloads, bucket }
  }

  return {
    world,
    upstream,
    get: (path, query) =>
      ask({ method: 'GET', path, query: new URLSearchParams(query), headers: {}, body: '' }),
    post: (path, body) =>
      ask({ method: 'POST', path, query: new URLSearchParams(), headers: {}, body }),
    connect(first) {
      const wire = createTestWire()
      const query = new URLSearchParams()
      const request = { method: 'GET', path: '/ws/market', query, headers: {}, body: '' }
      const session = upstream.accept(request, wire) as Session
      const say = (message: object): void => session.onText(JSON.stringify(message))
      if (first !== undefined) say(first)
      return { wire, session, say }
    },
    open() {
      const market = world.list()
      world.phase(market, 'open')
      world.change(market, ladder(5_200, 5))
      return market
    },
    tokens: (proposition) => [...upstream.keys(proposition)] as [string, string],
  }
}

/** A book on the wire: worst first. */
export type WireBook = {
  readonly event_type?: string
  readonly asset_id: string
  readonly timestamp: string
  readonly hash: string
  readonly bids: readonly { readonly price: string; readonly size: string }[]
  readonly asks: readonly { readonly price: string; readonly size: string }[]
}

/** Reads a book of the wire into the world's terms, best first. */
export function bookIn({ bids, asks }: WireBook): Book {
  const read = (levels: WireBook['bids']) =>
    levels
      .map(({ price, size }) => ({ price: parseScaled(price, 4), size: parseScaled(size, 6) }))
      .reverse()
  return { bids: read(bids), asks: read(asks) }
}

/** The other outcome's book, worked out apart from the code under test. */
export function mirrored({ bids, asks }: Book): Book {
  const swap = (levels: Book['bids']) =>
    levels.map(({ price, size }) => ({ price: 10_000 - price, size }))
  return { bids: swap(asks), asks: swap(bids) }
}
