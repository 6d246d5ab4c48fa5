import { REFERENCE_METRIC, referenceInstrument } from '@priorbook/sdk/domain'
import type { Payload } from '../../core/upstream.ts'
import type { Asset } from '../../world/underlying.ts'

/** The price of each feed, by its name, at a time of the venue's clock, in milliseconds. */
export type Tick = { readonly at: number; readonly prices: ReadonlyMap<string, number> }

/** One topic of prices. */
export type Feed = {
  readonly topic: string
  /** The name of the series in the truth log. */
  readonly name: string
  symbolOf(asset: Asset): string
  /** Present where the price is an average over this many nominal seconds. */
  readonly windowSeconds?: number
  /** The price as the message has it: a double, and text. */
  print(price: number): { readonly value: number; readonly full: string; readonly exact: string }
  /** The topic under which the past is sent; of the oracle's prices it is the exchange's. */
  readonly dumpTopic?: string
}

const SCALE = 18

// Oracles have whole numbers of 10^−18; a double has fewer digits, and these are its exact ones.
function printOracle(price: number): ReturnType<Feed['print']> {
  const exact = price.toFixed(SCALE)
  return { value: price, full: exact.replace('.', '').replace(/^0+/, ''), exact }
}

function printExchange(price: number): ReturnType<Feed['print']> {
  const full = (Math.round(price * 100) / 100).toFixed(8)
  return { value: Number(full), full, exact: full }
}

const toPair = (asset: Asset): string => `${asset.toLowerCase()}/usd`

/** The topics of the socket. */
export const FEEDS: readonly Feed[] = [
  {
    topic: 'crypto_prices',
    name: 'exchange',
    symbolOf: (asset) => `${asset.toLowerCase()}usdt`,
    print: printExchange,
  },
  {
    topic: 'crypto_prices_chainlink',
    name: 'chainlink',
    symbolOf: toPair,
    print: printOracle,
    dumpTopic: 'crypto_prices',
  },
  {
    topic: 'crypto_prices_twap_thirty',
    name: 'twap30',
    symbolOf: toPair,
    windowSeconds: 30,
    print: printOracle,
  },
  {
    topic: 'crypto_prices_twap_sixty',
    name: 'twap60',
    symbolOf: toPair,
    windowSeconds: 60,
    print: printOracle,
  },
]

/** The message of the newest price, and what it states. */
export function toUpdate(
  feed: Feed,
  asset: Asset,
  newest: Tick,
): { readonly text: string; readonly symbol: string; readonly payload: Payload } {
  const { topic, name } = feed
  const symbol = feed.symbolOf(asset)
  const { at: timestamp, prices } = newest
  const { value, full, exact } = feed.print(prices.get(name)!)
  const window = feed.windowSeconds === undefined ? {} : { window_s: feed.windowSeconds }
  const payload = { full_accuracy_value: full, symbol, timestamp, value, ...window }
  const text = JSON.stringify({ payload, timestamp, topic, type: 'update' })
  const { key } = referenceInstrument('venuec', { feed: name, asset })
  return {
    text,
    symbol,
    payload: { kind: 'sample', key, metric: REFERENCE_METRIC, value: exact },
  }
}

/** The message with prices of the past. */
export function toDump(feed: Feed, symbol: string, past: readonly Tick[], now: number): string {
  const data = past.map(({ at, prices }) => ({
    timestamp: at,
    value: feed.print(prices.get(feed.name)!).value,
  }))
  const topic = feed.dumpTopic ?? feed.topic
  return JSON.stringify({ payload: { data, symbol }, timestamp: now, topic, type: 'subscribe' })
}
