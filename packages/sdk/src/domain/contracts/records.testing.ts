import { parseMicros } from '../micros.ts'
import { VENUES } from '../venues/index.ts'
import type { MarketRecord } from '../market.ts'

/** The bounds of the round that the records of this file are about. */
export const OPENS = parseMicros('2026-11-17T17:30:00Z')

/** When it closes. */
export const CLOSES = parseMicros('2026-11-17T17:45:00Z')

/** A round of venue A, in the shape of its answers. */
export function roundOfA(more: Partial<MarketRecord> = {}): MarketRecord {
  return {
    venue: 'venuea',
    marketId: '8691520',
    openTime: OPENS,
    closeTime: CLOSES,
    asset: 'BTC',
    window: '15m',
    status: 'open',
    outcomes: [
      { label: 'Up', index: 0, tokenId: '11' },
      { label: 'Down', index: 1, tokenId: '12' },
    ],
    units: VENUES.venuea.units,
    resolution: {
      state: 'none',
      source: 'BINANCE',
      reference: { feed: 'BTCUSDT', startPrice: '95012.34' },
    },
    native: {
      topic: { chartType: 'CRYPTO_UP_DOWN', feeRateBps: 200 },
      market: {
        description:
          'Resolves to "Up" if the price is greater. If the two prices are exactly equal, the market will resolve 50-50.',
      },
    },
    ...more,
  }
}

/** The same round on venue B. */
export function roundOfB(more: Partial<MarketRecord> = {}): MarketRecord {
  return {
    venue: 'venueb',
    marketId: 'KXBTC15M-26NOV171245-45',
    seriesTicker: 'KXBTC15M',
    openTime: OPENS,
    closeTime: CLOSES,
    asset: 'BTC',
    window: '15m',
    strike: '95010.01',
    status: 'open',
    outcomes: [
      { label: 'Yes', index: 0 },
      { label: 'No', index: 1 },
    ],
    units: VENUES.venueb.units,
    resolution: { state: 'none', source: 'CF Benchmarks' },
    native: {
      market: {
        strike_type: 'greater_or_equal',
        floor_strike: 95010.01,
        custom_strike: { round_digits: '2' },
        rules_primary:
          'If the simple average of the sixty seconds of the Bitcoin Real-Time Index before 12:45 PM is at least the start, then the market resolves to Yes.',
        rules_secondary: 'The settlement value is rounded to the nearest 2 decimal places.',
      },
    },
    ...more,
  }
}

/** The same round on venue C. */
export function roundOfC(more: Partial<MarketRecord> = {}): MarketRecord {
  return {
    venue: 'venuec',
    marketId: `0x${'c1'.repeat(32)}`,
    slug: 'btc-updown-15m-1794936600',
    openTime: OPENS,
    closeTime: CLOSES,
    asset: 'BTC',
    window: '15m',
    status: 'open',
    outcomes: [
      { label: 'Up', index: 0, tokenId: '21' },
      { label: 'Down', index: 1, tokenId: '22' },
    ],
    units: VENUES.venuec.units,
    resolution: { state: 'none', source: 'https://data.chain.link/streams/btc-usd' },
    native: {
      gamma: {
        description:
          'This market will resolve to "Up" if the Bitcoin price at the end is greater than or equal to the price at the beginning.',
      },
    },
    ...more,
  }
}

/** A price of venue B at a time: above, below or between strikes. */
export function priceOfB(market: MarketRecord['native'][string]): MarketRecord {
  const { window: _, strike: __, ...record } = roundOfB()
  const marketId = 'KXBTCD-26NOV1712-T94999.99'
  return { ...record, marketId, seriesTicker: 'KXBTCD', native: { market } }
}

/** A price of venue C on a day. */
export function priceOfC(question: string, description = ''): MarketRecord {
  const { window: _, asset: __, slug: ___, ...record } = roundOfC()
  return {
    ...record,
    question,
    outcomes: [
      { label: 'Yes', index: 0, tokenId: '31' },
      { label: 'No', index: 1, tokenId: '32' },
    ],
    resolution: { state: 'none', source: 'https://www.binance.com/en/trade/BTC_USDT' },
    native: { gamma: { description } },
  }
}
