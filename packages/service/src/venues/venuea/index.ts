import { PriorbookError, VENUES } from '@priorbook/sdk/domain'
import { isLoopback } from '../../lib/loopback.ts'
import { flag, setting, text, texts, whole } from '../../lib/setting.ts'
import { defineVenue, type VenueDefinition } from '../capture/definition.ts'
import type { SelectionOptions } from '../capture/selection/selection.ts'
import { selectionSettings, toSelection } from '../capture/selection/settings.ts'
import { BACKFILL_WINDOWS, backfillVenueA } from './backfill.ts'
import { EXCHANGES } from './catalog.ts'
import { CHECKPOINT_FACTS } from './chain/checkpoints.ts'
import { isChainRequest } from './chain/requests.ts'
import { VenueAConnector } from './connector.ts'
import { createVenueANormalizer } from './normalize.ts'
import { catalogueFloor, isComplete, VENUEA_COINS } from './past.ts'

export * from './connector.ts'
export * from './normalize.ts'

const SETTINGS = {
  enabled: setting(flag(), true, 'Whether venue A is recorded.'),
  rest: setting(
    text(),
    'https://api.binance.com/sapi/v1/w3w/wallet/prediction',
    'The base of its REST interface.',
  ),
  ws: setting(text(), 'wss://api.binance.com/sapi/wss', 'The address of its socket.'),
  apiKey: setting(text(), '', 'The API key; without one A is not recorded.'),
  apiSecret: setting(text(), '', 'The secret that signs requests.'),
  assets: setting(
    texts(),
    ['BTC', 'ETH', 'BNB'],
    'The underlying assets whose rounds are recorded by default.',
  ),
  ...selectionSettings('the rounds of venuea.assets', 'Market ids', { full: 2000, polled: 500 }),
  callsPerMinute: setting(whole(1), 60, 'The quota of REST calls.'),
  chainRpc: setting(
    text(/^$|^emulator$|^https?:\/\/\S+$/),
    '',
    'A JSON-RPC endpoint of BNB Smart Chain, from which trades are read; emulator for the emulated one; empty for no trades.',
  ),
  chainConfirmations: setting(
    whole(1, 10_000),
    15,
    'How many blocks must follow a block before its trades are read.',
  ),
  chainBlocks: setting(
    whole(1, 100_000),
    500,
    'The most blocks per request of trades; fewer are requested when the endpoint refuses.',
  ),
  chainCallsPerMinute: setting(whole(1), 300, 'The quota of calls to the endpoint.'),
  chainStart: setting(
    whole(0),
    0,
    'The first block whose trades are read; 0 for the newest at the first start.',
  ),
  chainExchanges: setting(
    texts(),
    Object.values(EXCHANGES),
    'The exchange contracts whose filled orders are trades.',
  ),
  chainDecimals: setting(whole(0, 36), 18, 'The decimals of collateral and shares on the chain.'),
} as const

/** Venue A (Binance Wallet Prediction, vendor Predict.fun). */
export const VENUE_A_DEFINITION = defineVenue({
  normalizer: createVenueANormalizer(),
  settings: SETTINGS,
  quotaOutlivesRestart: true,
  toSelection: selectionOf,
  toBareMarket: (marketId) => ({
    venue: 'venuea',
    marketId,
    outcomes: [],
    units: VENUES.venuea.units,
    native: {},
  }),
  backfill: {
    assets: VENUEA_COINS,
    windows: BACKFILL_WINDOWS,
    floorOf: catalogueFloor,
    isComplete,
    toUpstream: ({ rest: restBase, apiKey, apiSecret, callsPerMinute }) => ({
      restBase,
      apiKey,
      apiSecret,
      quota: toBackfillQuota(callsPerMinute),
    }),
    walk: backfillVenueA,
  },
  feed: { facts: CHECKPOINT_FACTS, isRequest: isChainRequest },
  // Without credentials only the chain is read. A node of the chain may be on this machine beside the real venue.
  addressesOf: ({ rest, ws, apiKey, apiSecret, chainRpc }) => ({
    ...(apiKey !== '' && apiSecret !== '' && { rest, ws }),
    ...(URL.canParse(chainRpc) && !isLoopback(chainRpc) && { chainRpc }),
  }),
  createConnector({ config, emulated, speed }, context) {
    const { rest, ws, apiKey, apiSecret } = { ...config, ...emulated }
    const { chainRpc: rpc } = config
    const url = rpc === 'emulator' ? emulated?.['chain'] : rpc
    if (url === undefined) {
      throw new PriorbookError('invalid_config', 'venuea.chainRpc: the emulator does not run')
    }
    return new VenueAConnector(
      {
        restBase: rest,
        wsUrl: ws,
        apiKey,
        apiSecret,
        assets: config.assets,
        selection: selectionOf({ config }),
        quota: { limit: Math.floor(config.callsPerMinute * speed), windowMs: 60_000 },
        speed,
        ...(url === ''
          ? {}
          : {
              chain: {
                url,
                exchanges: config.chainExchanges,
                confirmations: config.chainConfirmations,
                maxBlocks: config.chainBlocks,
                callsPerMinute: config.chainCallsPerMinute,
                decimals: config.chainDecimals,
                startBlock: config.chainStart,
              },
            }),
      },
      context,
    )
  },
})

function selectionOf({ config }: Selecting): SelectionOptions {
  return toSelection(config, [{ asset: config.assets, tier: 'full' }], 1)
}

type Selecting = Parameters<NonNullable<VenueDefinition<typeof SETTINGS>['toSelection']>>[0]

// Max calls per window: after a refusal a backfill pauses for half a window.
const MAX_CALLS_IN_WINDOW = 60

function toBackfillQuota(callsPerMinute: number): { limit: number; windowMs: number } {
  const limit = Math.min(MAX_CALLS_IN_WINDOW, callsPerMinute)
  return { limit, windowMs: (60_000 * limit) / callsPerMinute }
}
