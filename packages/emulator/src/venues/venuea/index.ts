import { createHash } from 'node:crypto'
import type { EmulatedVenue } from '../../core/emulated-venue.ts'
import type { CreateUpstream, UpstreamFaults } from '../../core/upstream.ts'
import { upDownFamilies } from '../../world/families.ts'
import { createAuth } from './auth.ts'
import { createChain } from './chain/index.ts'
import { createChannel } from './channel.ts'
import { createMemory } from './memory.ts'
import { refusalOf } from './refusal.ts'
import { BASE, createRest } from './rest.ts'
import { createRounds } from './rounds.ts'
import { createTopics } from './topic.ts'

/** The path of the signed socket. */
const SOCKET = '/sapi/wss'
/** The path of the chain's JSON-RPC interface. */
const CHAIN = '/chain'

const create: CreateUpstream = (world, { speed, credentials, faults = NO_FAULTS }) => {
  const rounds = createRounds(world)
  const memory = createMemory()
  const auth = createAuth(world, credentials)
  const topics = createTopics(rounds, memory)
  const channel = createChannel(rounds, memory, speed)
  const answer = createRest({ world, auth, rounds, topics, memory })
  const chain = createChain(world, rounds, faults)

  return {
    venue: 'venuea',
    quotas: {
      default: { limit: 60, windowMs: 60_000 },
      chain: { limit: 600, windowMs: 60_000 },
    },
    answer: (request) => (request.path === CHAIN ? chain.answer(request) : answer(request)),
    accept(request, wire) {
      if (request.path !== SOCKET) return answer(request)
      return auth(request, 'sorted') ?? channel.open(wire, request.query.get('topic') ?? '')
    },
    onEvent(event) {
      if (event.proposition.venue !== 'venuea') return
      memory.note(event)
      channel.onEvent(event)
      chain.onEvent(event)
    },
    keys: (proposition) => [String(rounds.of(proposition).marketId)],
  }
}

const NO_FAULTS: UpstreamFaults = { strike: () => undefined }

/** Binance Wallet Prediction: signed REST under a small quota, and a socket of whole books. */
export const EMULATED_VENUE_A = {
  create,
  keys(seed, given) {
    const digest = createHash('sha512').update(`${seed}/venuea`).digest('hex')
    const apiKey = given?.['apiKey'] ?? digest.slice(0, 64)
    const apiSecret = given?.['apiSecret'] ?? digest.slice(64)
    const pair = { apiKey, apiSecret }
    return { upstream: pair, client: pair }
  },
  addresses: (origin) => ({
    rest: `${origin}${BASE}`,
    ws: `${origin.replace(/^http/, 'ws')}${SOCKET}`,
    chain: `${origin}${CHAIN}`,
  }),
  refusal: refusalOf,
  socket: { path: SOCKET, replies: () => [] },
  style: {
    openMarkets: 6,
    families: upDownFamilies,
    lot: 1,
    tieWinner: 'tie',
    refinesTick: false,
    breadth: { matches: 'each', combos: 0 },
  },
  finestGrain: 0.01,
} satisfies EmulatedVenue
