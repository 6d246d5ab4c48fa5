import { createHash, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { EmulatedVenue } from '../../core/emulated-venue.ts'
import type { CreateUpstream } from '../../core/upstream.ts'
import type { Family } from '../../world/families.ts'
import { Archive } from './archive.ts'
import { createMarkets } from './markets.ts'
import { createRest, READ_TOKENS } from './rest.ts'
import { createSignatureCheck, unauthorized } from './signature.ts'
import { createSocket, MAX_MARKETS } from './socket.ts'
import { createTrades } from './trades.ts'

const SOCKET = '/trade-api/ws/v2'
/** Recorded second empty books came about 1.5 s after the first. */
const AGAIN_MS = 1_500

const create: CreateUpstream = (world, { speed, credentials, limits }) => {
  const markets = createMarkets(world, speed)
  const trades = createTrades(world)
  const check = createSignatureCheck(world, credentials)
  const archive = new Archive(markets, limits?.archiveMs)
  const answer = createRest({ markets, trades, archive, check })
  const maxMarkets = limits?.subscriptionMarkets ?? MAX_MARKETS
  const socket = createSocket(markets, { againMs: AGAIN_MS / speed, maxMarkets })

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
    keys: (market) => [markets.names(market).ticker],
  }
}

/** Kalshi: REST under a token quota, and a signed socket with numbered messages. */
export const EMULATED_VENUE_B = {
  create,
  keys(seed, given) {
    const keyId = given?.['keyId'] ?? createHash('sha256').update(`${seed}/venueb`).digest('hex')
    const privateKey = given?.['privateKey'] ?? createPrivateKey()
    return {
      upstream: { keyId, publicKey: publicKeyOf(privateKey) },
      client: { keyId, privateKey },
    }
  },
  addresses: (origin) => ({
    rest: `${origin}/trade-api/v2`,
    ws: `${origin.replace('http', 'ws')}${SOCKET}`,
  }),
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
  socket: {
    path: SOCKET,
    begins: (text) => commandOf(text)?.cmd === 'subscribe',
    replies(text) {
      const command = commandOf(text)
      if (command === undefined) return []
      const { id = 0, cmd, params = {} } = command
      if (cmd !== 'subscribe') return [JSON.stringify({ id, type: 'ok', msg: {} })]
      const channels = Array.isArray(params.channels) ? params.channels : []
      return channels.map((channel: unknown, index) =>
        JSON.stringify({ id, type: 'subscribed', msg: { channel, sid: index + 1 } }),
      )
    },
  },
  style: {
    openMarkets: 12,
    families: seriesFamilies,
    lot: 10_000,
    tieWinner: 'first',
    refinesTick: false,
    breadth: { matches: 'each', combos: 0.1 },
  },
} satisfies EmulatedVenue

const MAX_STRIKES = 500

// Two up-or-down series, and hourly events with as many strikes as the rest asks for.
function seriesFamilies(markets: number): readonly Family[] {
  const families: Family[] = [{ asset: 'BTC', window: '15m', strikes: 0 }]
  if (markets > 1) families.push({ asset: 'ETH', window: '15m', strikes: 0 })
  const rest = markets - families.length
  const first = Math.ceil(rest / 2)
  if (first > MAX_STRIKES) {
    throw new PriorbookError('invalid_argument', `${markets} markets are too many`)
  }
  if (first > 0) families.push({ asset: 'BTC', window: '1h', strikes: first })
  if (rest > first) families.push({ asset: 'ETH', window: '1h', strikes: rest - first })
  return families
}

type Command = {
  readonly id?: number
  readonly cmd?: string
  readonly params?: { channels?: unknown }
}

function commandOf(text: string): Command | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function createPrivateKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return privateKey
}

function publicKeyOf(privateKey: string): string {
  try {
    return createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString()
  } catch (cause) {
    throw new PriorbookError('invalid_argument', 'the private key of venue B is not PEM', { cause })
  }
}
