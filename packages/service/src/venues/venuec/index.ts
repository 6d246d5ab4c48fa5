import { VENUES } from '@priorbook/sdk/domain'
import { flag, setting, text, texts, whole } from '../../lib/setting.ts'
import { defineVenue } from '../capture/definition.ts'
import { selectSetting, toRules } from '../capture/selection/rules.ts'
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
    'The underlying assets that are recorded by default.',
  ),
  windows: setting(
    texts(),
    ['5m', '15m'],
    'The windows of up/down markets that are recorded by default.',
  ),
  select: selectSetting('the rounds of venuec.assets and venuec.windows'),
  pinned: setting(texts(), [], 'Condition ids that never lose their books to more active markets.'),
  fullBooks: setting(whole(0, 50_000), 40_000, 'Max books by socket, two for each market.'),
  polledBooks: setting(
    whole(0, 500_000),
    10_000,
    'Max polled books; of further markets only the record is kept.',
  ),
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
        rules: toRules(config.select, [
          { asset: config.assets, window: config.windows, tier: 'full' },
        ]),
        pinned: config.pinned,
        fullBooks: config.fullBooks,
        polledBooks: config.polledBooks,
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
