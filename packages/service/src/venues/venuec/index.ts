import { VENUES } from '@priorbook/sdk/domain'
import { flag, setting, text, texts } from '../../lib/setting.ts'
import { defineVenue } from '../capture/definition.ts'
import type { QuotaOptions } from '../capture/quota.ts'
import { VenueCConnector } from './connector.ts'
import { createVenueCNormalizer } from './normalize.ts'

const SETTINGS = {
  enabled: setting(flag(), true, 'Whether venue C is recorded.'),
  gamma: setting(text(), 'https://gamma-api.polymarket.com', 'The base of its catalogue.'),
  clob: setting(text(), 'https://clob.polymarket.com', 'The base of its book interface.'),
  ws: setting(
    text(),
    'wss://ws-subscriptions-clob.polymarket.com/ws/market',
    'The address of its market channel.',
  ),
  assets: setting(
    texts(),
    ['BTC', 'ETH', 'SOL', 'XRP'],
    'The underlying assets that are recorded.',
  ),
  windows: setting(texts(), ['5m', '15m'], 'The windows of up/down markets that are recorded.'),
} as const

// Sliding windows of ten seconds that the venue publishes: Gamma /markets 300, CLOB /book 1,500.
const GAMMA_QUOTA = { limit: 300, windowMs: 10_000 }
const CLOB_QUOTA = { limit: 1500, windowMs: 10_000 }
/** Max tokens per socket. Above 500 the venue sends no first books. */
const TOKENS_PER_SOCKET = 200

/** Venue C (Polymarket). */
export const VENUE_C_DEFINITION = defineVenue({
  normalizer: createVenueCNormalizer(),
  settings: SETTINGS,
  quotaOutlivesRestart: false,
  toBareMarket: (marketId) => ({
    venue: 'venuec',
    marketId,
    conditionId: marketId,
    outcomes: [],
    units: VENUES.venuec.units,
    native: {},
  }),
  createConnector({ config, emulated, speed }, context) {
    const { gamma, clob, ws } = { ...config, ...emulated }
    return new VenueCConnector(
      {
        gammaBase: gamma,
        clobBase: clob,
        wsUrl: ws,
        assets: config.assets,
        windows: config.windows,
        quotas: { gamma: scaled(GAMMA_QUOTA, speed), clob: scaled(CLOB_QUOTA, speed) },
        tokensPerSocket: TOKENS_PER_SOCKET,
        speed,
      },
      context,
    )
  },
})

function scaled({ limit, windowMs }: QuotaOptions, speed: number): QuotaOptions {
  return { limit: Math.floor(limit * speed), windowMs }
}
