import { VENUES } from '@priorbook/sdk/domain'
import { flag, setting, socketAddress, text, texts, wordsOf } from '../../lib/setting.ts'
import { defineVenue, type VenueDefinition } from '../capture/definition.ts'
import type { SelectionOptions } from '../capture/selection/selection.ts'
import { selectionSettings, toSelection } from '../capture/selection/settings.ts'
import type { QuotaOptions } from '../capture/quota.ts'
import { VenueCConnector } from './connector.ts'
import { VenueCHistory } from './history.ts'
import { createVenueCNormalizer } from './normalize.ts'

const FEEDS = VENUES.venuec.references.map(({ feed }) => feed)

const SETTINGS = {
  enabled: setting(flag(), true, 'Whether venue C is recorded.'),
  gamma: setting(text(), 'https://gamma-api.polymarket.com', 'The base of its catalogue.'),
  clob: setting(text(), 'https://clob.polymarket.com', 'The base of its book interface.'),
  data: setting(
    text(),
    'https://data-api.polymarket.com',
    'The base of its interface of past trades, for backfill.',
  ),
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
  ...selectionSettings('the rounds of venuec.assets and venuec.windows', 'Condition ids', {
    full: 40_000,
    polled: 10_000,
  }),
  rtds: setting(
    socketAddress(),
    'wss://ws-live-data.polymarket.com',
    'The address of its socket of reference prices; empty: none are recorded.',
  ),
  referenceFeeds: setting(
    wordsOf(FEEDS),
    FEEDS,
    'The feeds of reference prices that are recorded; an empty list records none.',
  ),
  referenceAssets: setting(
    texts(),
    ['BTC', 'ETH', 'SOL', 'XRP'],
    'The assets whose reference prices are recorded.',
  ),
} as const

// Sliding windows of ten seconds that the venue publishes: Gamma /markets 300, CLOB /book 1,500, data /trades 200,
// CLOB /prices-history 1,000.
const GAMMA_QUOTA = { limit: 300, windowMs: 10_000 }
const PRICES_QUOTA = { limit: 1000, windowMs: 10_000 }
const DATA_QUOTA = { limit: 200, windowMs: 10_000 }
const CLOB_QUOTA = { limit: 1500, windowMs: 10_000 }
/** Max tokens per socket. Above 500 the venue sends no first books. */
const TOKENS_PER_SOCKET = 200
const BOOKS_PER_MARKET = 2

/** Venue C (Polymarket). */
export const VENUE_C_DEFINITION = defineVenue({
  normalizer: createVenueCNormalizer(),
  settings: SETTINGS,
  quotaOutlivesRestart: false,
  toSelection: selectionOf,
  toBareMarket: (marketId) => ({
    venue: 'venuec',
    marketId,
    conditionId: marketId,
    outcomes: [],
    units: VENUES.venuec.units,
    native: {},
  }),
  history: {
    selectors: [['asset', 'window'], ['event']],
    basesOf: ({ gamma, clob, data }) => ({ gamma, clob, data }),
    open: ({ gamma: gammaBase, data: dataBase, clob: clobBase }, context) => {
      const quotas = { gamma: GAMMA_QUOTA, data: DATA_QUOTA, prices: PRICES_QUOTA }
      return new VenueCHistory({ gammaBase, dataBase, clobBase, quotas }, context)
    },
  },
  addressesOf: ({ gamma, clob, ws, rtds, referenceFeeds }) => ({
    gamma,
    clob,
    ws,
    ...(rtds !== '' && referenceFeeds.length > 0 && { rtds }),
  }),
  createConnector({ config, emulated, speed }, context) {
    const { gamma, clob, ws } = { ...config, ...emulated }
    // An emulator without the socket must not lead to the real one.
    const rtds = emulated === undefined ? config.rtds : emulated['rtds']
    return new VenueCConnector(
      {
        gammaBase: gamma,
        clobBase: clob,
        wsUrl: ws,
        selection: selectionOf({ config }),
        quotas: { gamma: scaled(GAMMA_QUOTA, speed), clob: scaled(CLOB_QUOTA, speed) },
        tokensPerSocket: TOKENS_PER_SOCKET,
        speed,
        ...(rtds !== undefined &&
          rtds !== '' && {
            reference: {
              url: rtds,
              feeds: config.referenceFeeds,
              assets: config.referenceAssets,
            },
          }),
      },
      context,
    )
  },
})

function selectionOf({ config }: Selecting): SelectionOptions {
  const { assets: asset, windows: window } = config
  return toSelection(config, [{ asset, window, tier: 'full' }], BOOKS_PER_MARKET)
}

type Selecting = Parameters<NonNullable<VenueDefinition<typeof SETTINGS>['toSelection']>>[0]

function scaled({ limit, windowMs }: QuotaOptions, speed: number): QuotaOptions {
  return { limit: Math.floor(limit * speed), windowMs }
}
