import type { CreateUpstream } from '../core/upstream.ts'
import { createMarkets } from './markets.ts'
import { createRest, READ_TOKENS } from './rest.ts'
import { createSignatureCheck, unauthorized } from './signature.ts'
import { createSocket } from './socket.ts'
import { createTrades } from './trades.ts'

const SOCKET = '/trade-api/ws/v2'
/** Recorded second empty books came about 1.5 s after the first. */
const AGAIN_MS = 1_500

/** Kalshi: REST under a token quota, and a signed socket with numbered messages. */
export const createVenueBUpstream: CreateUpstream = (world, { speed, credentials }) => {
  const markets = createMarkets(world, speed)
  const trades = createTrades(world)
  const check = createSignatureCheck(world, credentials)
  const answer = createRest({ world, markets, trades, check })
  const socket = createSocket(markets, AGAIN_MS / speed)

  return {
    venue: 'venueb',
    quotas: { default: { limit: READ_TOKENS, windowMs: 1_000 } },
    answer,
    accept(request, wire) {
      if (request.path !== SOCKET) return answer(request)
      return check(request) ?? socket.open(wire)
    },
    onEvent(event) {
      if (event.proposition.venue !== 'venueb') return
      markets.note(event)
      const { fill } = event.kind === 'book' ? event : { fill: undefined }
      const { proposition: market, at } = event
      const trade =
        fill === undefined ? undefined : trades.note(market, markets.names(market), fill, at)
      socket.onEvent(event, trade)
    },
    addresses: (origin) => ({
      rest: `${origin}/trade-api/v2`,
      ws: `${origin.replace('http', 'ws')}${SOCKET}`,
    }),
    keys: (market) => [markets.names(market).ticker],
    refusal(why) {
      switch (why) {
        case 'quota':
          return { status: 429, body: '{"error":"too many requests"}', cost: 0 }
        case 'signature':
          return { ...unauthorized('header_timestamp_expired'), cost: 0 }
        case 'outage': {
          const error = { code: 'service_unavailable', message: 'service unavailable' }
          return { status: 503, body: JSON.stringify({ error }), cost: 0 }
        }
      }
    },
  }
}
