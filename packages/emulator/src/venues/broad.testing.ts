import type { VenueId } from '@priorbook/sdk/domain'
import type {
  Payload,
  Proposition,
  Session,
  TopicProposition,
  Upstream,
  UpstreamLimits,
  WorldEvent,
} from '../core/upstream.ts'
import { SteppedWorld } from '../world/world.ts'
import { emulatedVenue } from './registry.ts'
import { createTestWire } from './venuea/world.testing.ts'

/** When broad test worlds begin. */
export const BROAD_START = Date.UTC(2026, 10, 17, 12, 0, 0)

/** How a broad test world differs from others. */
export type BroadOptions = {
  readonly seed?: string
  readonly markets?: number
  readonly rate?: number
  readonly turnover?: number
  readonly speed?: number
  readonly start?: number
}

/** A world without rounds: only topics of one venue. */
export function createBroadWorld(
  venue: VenueId,
  options: BroadOptions = {},
): { readonly world: SteppedWorld; readonly clock: { at: number } } {
  const { seed = '1', markets = 300, rate = 50, turnover = 6, speed = 1 } = options
  const { start = BROAD_START } = options
  const clock = { at: start }
  const { style } = emulatedVenue(venue)
  const world = new SteppedWorld({
    seed,
    start,
    speed,
    venues: [],
    rounds: 0,
    breadth: [{ venue, style, markets, rate, turnover }],
    rates: () => ({ changes: 0, trades: 0, pauses: 0, disputes: 0, ties: 0 }),
    clock: () => clock.at,
  })
  return { world, clock }
}

/** An answer, read. */
type BroadAnswer = {
  readonly status: number
  readonly value: unknown
  readonly payloads: readonly Payload[]
}

/** A venue over a broad world that tests move. */
export type BroadVenue = {
  readonly world: SteppedWorld
  readonly upstream: Upstream
  /** Everything that happened. */
  readonly events: readonly WorldEvent[]
  /** Moves the world forward. */
  advance(ms: number): void
  get(path: string, query?: Record<string, string> | [string, string][]): BroadAnswer
  post(path: string, body: unknown): BroadAnswer
  connect(
    path: string,
    headers?: Record<string, string>,
  ): { readonly wire: ReturnType<typeof createTestWire>; readonly session: Session }
  topics(): readonly TopicProposition[]
}

/** Creates a venue and its world, at its first step. */
export function createBroadVenue(
  venue: VenueId,
  options: BroadOptions & {
    readonly credentials?: Record<string, string>
    readonly limits?: UpstreamLimits
  } = {},
): BroadVenue {
  const { speed = 1, start = BROAD_START } = options
  const { world, clock } = createBroadWorld(venue, options)
  const emulated = emulatedVenue(venue)
  const credentials = options.credentials ?? emulated.keys('1', undefined).upstream
  const { limits = {} } = options
  const upstream = emulated.create(world, { speed, credentials, limits })
  const events: WorldEvent[] = []
  const onEvent = (event: WorldEvent): void => {
    events.push(event)
    upstream.onEvent(event)
  }
  world.advance(start, onEvent)
  const read = (request: Parameters<Upstream['answer']>[0]): BroadAnswer => {
    const { status, body, payloads = [] } = upstream.answer(request)
    return { status, value: JSON.parse(body) as unknown, payloads }
  }
  return {
    world,
    upstream,
    events,
    advance(ms) {
      clock.at += ms
      world.advance(clock.at, onEvent)
    },
    get: (path, query) =>
      read({ method: 'GET', path, query: new URLSearchParams(query), headers: {}, body: '' }),
    post: (path, body) =>
      read({
        method: 'POST',
        path,
        query: new URLSearchParams(),
        headers: {},
        body: JSON.stringify(body),
      }),
    connect(path, headers = {}) {
      const wire = createTestWire()
      const query = new URLSearchParams()
      const session = upstream.accept({ method: 'GET', path, query, headers, body: '' }, wire)
      return { wire, session: session as Session }
    },
    topics: () => world.propositions(venue).filter(isTopic),
  }
}

function isTopic(proposition: Proposition): proposition is TopicProposition {
  return proposition.topic !== undefined
}
