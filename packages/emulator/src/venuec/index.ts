import type { CreateUpstream, UpstreamAnswer, UpstreamRequest } from '../core/upstream.ts'
import { failed, QUOTAS } from './answers.ts'
import { createChannel } from './channel.ts'
import { CLOB, createClob } from './clob.ts'
import { createConditions } from './conditions.ts'
import { createGamma, GAMMA } from './gamma.ts'
import { createMemory } from './memory.ts'
import { createBookReader } from './token-book.ts'

/** The path of the market channel. */
const SOCKET = '/ws/market'

/** Polymarket: Gamma, the order books and the market channel on one server, told apart by path. */
export const createVenueCUpstream: CreateUpstream = (world, { speed }) => {
  const conditions = createConditions(world)
  const memory = createMemory(world, speed)
  const readBooks = createBookReader()
  const gamma = createGamma(conditions, memory)
  const clob = createClob({ world, conditions, memory, readBooks })
  const channel = createChannel({ world, conditions, memory, readBooks })

  function answer(request: UpstreamRequest): UpstreamAnswer {
    if (request.path.startsWith(`${GAMMA}/`)) return gamma(request)
    if (request.path.startsWith(`${CLOB}/`)) return clob(request)
    return failed(404, { error: 'not found' }, 'default')
  }

  return {
    venue: 'venuec',
    quotas: QUOTAS,
    answer,
    accept: (request, wire) =>
      request.path === SOCKET ? channel.open(wire) : failed(404, { error: 'not found' }, 'default'),
    onEvent(event) {
      if (event.proposition.venue !== 'venuec') return
      memory.note(event)
      channel.onEvent(event)
    },
    addresses: (origin) => ({
      gamma: `${origin}${GAMMA}`,
      clob: `${origin}${CLOB}`,
      ws: `${origin.replace(/^http/, 'ws')}${SOCKET}`,
    }),
    keys: (proposition) => conditions.of(proposition).tokens,
  }
}
