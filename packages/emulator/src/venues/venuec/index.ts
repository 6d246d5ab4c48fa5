import type { EmulatedVenue } from '../../core/emulated-venue.ts'
import type {
  CreateUpstream,
  Refusal,
  UpstreamAnswer,
  UpstreamRequest,
} from '../../core/upstream.ts'
import { upDownFamilies } from '../../world/families.ts'
import { failed, QUOTAS } from './answers.ts'
import { createChannel } from './channel.ts'
import { CLOB, createClob } from './clob.ts'
import { createConditions } from './conditions.ts'
import { createData, DATA } from './data.ts'
import { createGamma, GAMMA } from './gamma.ts'
import { createMemory } from './memory.ts'
import { createPriceHistory } from './price-history.ts'
import { Tags } from './tags.ts'
import { createRtds } from './rtds.ts'
import { createBookReader } from './token-book.ts'

/** The path of the market channel. */
const SOCKET = '/ws/market'
/** The path of the socket of prices; the venue has it on a host of its own. */
const RTDS = '/rtds'

const create: CreateUpstream = (world, { speed }) => {
  const conditions = createConditions(world)
  const memory = createMemory(world, speed)
  const readBooks = createBookReader()
  const history = createPriceHistory()
  const gamma = createGamma({ conditions, memory, tags: new Tags(world) })
  const clob = createClob({ world, conditions, memory, readBooks, history })
  const data = createData(world, conditions)
  const channel = createChannel({ world, conditions, memory, readBooks })
  const rtds = createRtds(world, speed)

  function answer(request: UpstreamRequest): UpstreamAnswer {
    if (request.path.startsWith(`${GAMMA}/`)) return gamma(request)
    if (`${request.path}/`.startsWith(`${CLOB}/`)) return clob(request)
    if (request.path.startsWith(`${DATA}/`)) return data.answer(request)
    return failed(404, { error: 'not found' }, 'default')
  }

  return {
    venue: 'venuec',
    quotas: QUOTAS,
    answer,
    accept(request, wire) {
      if (request.path === SOCKET) return channel.open(wire)
      if (request.path === RTDS) return rtds.open(wire)
      return failed(404, { error: 'not found' }, 'default')
    },
    onEvent(event) {
      if (event.proposition.venue !== 'venuec') return
      memory.note(event)
      if (event.kind === 'book' && event.fill !== undefined) {
        history.note(event.proposition, event.fill.price, event.at)
        data.note(conditions.of(event.proposition), event.fill, event.at)
      }
      channel.onEvent(event)
      rtds.onEvent(event)
    },
    onStep: (at) => rtds.onStep(at),
    keys: (proposition) => conditions.of(proposition).tokens,
  }
}

/** Polymarket: Gamma, the order books, the data service and the market channel on one server, told apart by path. */
export const EMULATED_VENUE_C = {
  create,
  keys: () => ({ upstream: {}, client: {} }),
  addresses: (origin) => ({
    gamma: `${origin}${GAMMA}`,
    clob: `${origin}${CLOB}`,
    data: `${origin}${DATA}`,
    ws: `${origin.replace(/^http/, 'ws')}${SOCKET}`,
    rtds: `${origin.replace(/^http/, 'ws')}${RTDS}`,
  }),
  refusal: (why) => ({ ...REFUSALS[why], cost: 0 }),
  socket: {
    path: SOCKET,
    begins: (text) => text !== 'PING',
    replies: (text) => (text === 'PING' ? ['PONG'] : []),
  },
  style: {
    openMarkets: 6,
    families: upDownFamilies,
    lot: 10_000,
    tieWinner: 'first',
    averageSeconds: (window, openTime) =>
      openTime < AVERAGES_SINCE ? undefined : AVERAGES[window],
    refinesTick: true,
    breadth: { matches: 'one', combos: 0 },
  },
} satisfies EmulatedVenue

// Rounds of 2026-08-06 and before settled on the price at that time.
const AVERAGES_SINCE = Date.UTC(2026, 7, 7)
const AVERAGES: Readonly<Partial<Record<string, number>>> = { '5m': 30, '15m': 60 }

const REFUSALS: Readonly<Record<Refusal, UpstreamAnswer>> = {
  quota: refused(429, 'Too Many Requests'),
  outage: refused(503, 'Service Temporarily Unavailable'),
  signature: { status: 401, body: '{"error":"Unauthorized/Invalid api key"}' },
}

function refused(status: number, words: string): UpstreamAnswer {
  return { status, body: `<html><head><title>${status} ${words}</title></head></html>` }
}
