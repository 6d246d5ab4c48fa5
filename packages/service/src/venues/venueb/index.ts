import { readFileSync } from 'node:fs'
import { PriorbookError, VENUES, type MarketRecord } from '@priorbook/sdk/domain'
import { flag, setting, text, texts, whole } from '../../lib/setting.ts'
import { defineVenue, type VenueDefinition } from '../capture/definition.ts'
import type { SelectionOptions } from '../capture/selection/selection.ts'
import { selectionSettings, toSelection } from '../capture/selection/settings.ts'
import { VenueBConnector } from './connector.ts'
import { OUTCOMES } from './fields.ts'
import { VenueBHistory } from './history.ts'
import { createVenueBNormalizer } from './normalize.ts'
import { readTicker } from './ticker.ts'

export * from './catalog.ts'
export * from './connector.ts'
export * from './native.ts'
export * from './normalize.ts'

const SETTINGS = {
  enabled: setting(flag(), true, 'Whether venue B is recorded.'),
  rest: setting(
    text(),
    'https://api.elections.kalshi.com/trade-api/v2',
    'The base of its REST interface.',
  ),
  ws: setting(
    text(),
    'wss://api.elections.kalshi.com/trade-api/ws/v2',
    'The address of its socket.',
  ),
  keyId: setting(text(), '', 'The key id; without one B is polled.'),
  privateKeyFile: setting(text(), '', 'A file with the RSA private key (PEM) that signs requests.'),
  series: setting(
    texts(),
    ['KXBTC15M', 'KXETH15M', 'KXBTCD', 'KXETHD'],
    'The series whose markets are recorded by default.',
  ),
  ...selectionSettings('the markets of venueb.series', 'Market tickers', {
    full: 40_000,
    polled: 2000,
  }),
  tokensPerSecond: setting(whole(10), 200, 'The read budget of the account (Basic 200).'),
} as const

const COST_PER_REQUEST = 10
// The series that the emulator plays.
const EMULATED_SERIES = ['KXBTC15M', 'KXETH15M', 'KXBTCD', 'KXETHD']

/** Venue B (Kalshi). */
export const VENUE_B_DEFINITION = defineVenue({
  normalizer: createVenueBNormalizer(),
  settings: SETTINGS,
  quotaOutlivesRestart: false,
  toBareMarket,
  importer: { keyOf: tickerOf },
  toSelection: selectionOf,
  history: {
    selectors: [['series'], ['event']],
    basesOf: ({ rest }) => ({ rest }),
    open: ({ rest: restBase, tokensPerSecond }, context) => {
      const limit = Math.floor(tokensPerSecond / COST_PER_REQUEST)
      return new VenueBHistory({ restBase, quota: { limit, windowMs: 1000 } }, context)
    },
  },
  addressesOf: ({ rest, ws }) => ({ rest, ws }),
  createConnector({ config, emulated, speed }, context) {
    const { rest, ws, keyId, privateKey } = { privateKey: undefined, ...config, ...emulated }
    return new VenueBConnector(
      {
        restBase: rest,
        wsUrl: ws,
        keyId,
        privateKey: privateKey ?? readKey(config.privateKeyFile),
        selection: selectionOf({ config, ...(emulated && { emulated }) }),
        quota: {
          tokensPerSecond: Math.floor(config.tokensPerSecond * speed),
          costPerRequest: COST_PER_REQUEST,
        },
        speed,
      },
      context,
    )
  },
})

function selectionOf({ config, emulated }: Selecting): SelectionOptions {
  const series = emulated === undefined ? config.series : EMULATED_SERIES
  return toSelection(config, [{ series, tier: 'full' }], 1)
}

type Selecting = Parameters<NonNullable<VenueDefinition<typeof SETTINGS>['toSelection']>>[0]

// Only socket messages contain the UUID of a market.
function toBareMarket(marketId: string, frame: unknown): MarketRecord {
  const id = (frame as { msg?: { market_id?: unknown } } | undefined)?.msg?.market_id
  return {
    venue: 'venueb',
    marketId,
    ...readTicker(marketId),
    outcomes: OUTCOMES,
    units: VENUES.venueb.units,
    native: typeof id === 'string' ? { market_id: id } : {},
  }
}

function tickerOf(line: Readonly<Record<string, unknown>>): string | undefined {
  const event = line['event'] as { msg?: { market_ticker?: unknown } } | undefined
  const ticker = event?.msg?.market_ticker
  return typeof ticker === 'string' ? ticker : undefined
}

function readKey(file: string): string {
  if (file === '') return ''
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new PriorbookError('invalid_config', `venueb.privateKeyFile: ${file} cannot be read`, {
      cause,
    })
  }
}
