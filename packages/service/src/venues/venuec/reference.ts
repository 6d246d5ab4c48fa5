import {
  canonicalDecimal,
  decimalText,
  PriorbookError,
  referenceInstrument,
  REFERENCE_METRIC,
  type Instrument,
  type Sample,
} from '@priorbook/sdk/domain'
import { BoundedMap } from '../../lib/bounded-map.ts'
import type { Arrival, Normalized } from '../capture/contract.ts'
import {
  decimalOf,
  isObject,
  readObject,
  show,
  wrong,
  type NativeObject,
} from '../capture/fields.ts'
import { readMillis } from './fields.ts'

/** A topic of the venue's price socket. */
type Topic = {
  readonly topic: string
  readonly feed: string
  /** The asset is the first group: `btcusdt`, or `btc/usd`. */
  readonly symbol: RegExp
  /** True where `full_accuracy_value` is a whole number of 10^−18; it is a plain decimal otherwise. */
  readonly isScaled: boolean
}

const PAIR = /^([a-z0-9]{1,16})\/usd$/

/** The topics by the feeds that they are. */
const TOPICS: readonly Topic[] = [
  { topic: 'crypto_prices_twap_sixty', feed: 'twap60', symbol: PAIR, isScaled: true },
  { topic: 'crypto_prices_twap_thirty', feed: 'twap30', symbol: PAIR, isScaled: true },
  { topic: 'crypto_prices_chainlink', feed: 'chainlink', symbol: PAIR, isScaled: true },
  {
    topic: 'crypto_prices',
    feed: 'exchange',
    symbol: /^([a-z0-9]{1,16})usdt$/,
    isScaled: false,
  },
]

/** The topic of a feed; undefined for a feed that the venue does not have. */
export function topicOf(feed: string): string | undefined {
  return TOPICS.find((one) => one.feed === feed)?.topic
}

/** True for a message of the price socket; those of the market channel have no topic. */
export function isReferenceMessage(value: unknown): value is NativeObject {
  return isObject(value) && typeof value['topic'] === 'string'
}

/** The series that a message is about; undefined where it does not say so. */
export function referenceOf(value: unknown): Instrument | undefined {
  if (!isReferenceMessage(value) || !isObject(value['payload'])) return undefined
  const topic = TOPICS.find((one) => one.topic === value['topic'])
  const { symbol } = value['payload']
  return topic === undefined ? undefined : instrumentOf(topic, symbol)
}

/** True for the price of an asset that is not quoted as the topic's others are; it is of no series. */
export function isOtherAsset(value: unknown): boolean {
  if (!isReferenceMessage(value) || value['type'] !== 'update') return false
  const topic = TOPICS.find((one) => one.topic === value['topic'])
  if (topic === undefined || !isObject(value['payload'])) return false
  const { symbol } = value['payload']
  return typeof symbol === 'string' && instrumentOf(topic, symbol) === undefined
}

/**
 * Normalizes one message of the price socket. Only updates are prices as they are now: what the venue sends
 * of the past when a symbol is subscribed was received after its time.
 */
export function normalizeReference(message: NativeObject, at: Arrival): Normalized {
  const topic = TOPICS.find((one) => one.topic === message['topic'])
  if (topic === undefined) {
    throw new PriorbookError('unknown_event', `venue C has no topic ${show(message['topic'])}`)
  }
  if (message['type'] === 'subscribe' || isOtherAsset(message)) return { events: [], problems: [] }
  if (message['type'] !== 'update') throw wrong('type', message['type'], 'update')
  const payload = readObject(message['payload'], 'payload')
  const instrument = instrumentOf(topic, payload['symbol'])
  if (instrument === undefined) throw wrong('symbol', payload['symbol'], 'a pair of assets')
  const source = readMillis(payload['timestamp'], 'timestamp')
  if (source === undefined) throw wrong('timestamp', payload['timestamp'], 'milliseconds')
  const price: Sample = {
    kind: 'sample',
    instrument,
    metric: REFERENCE_METRIC,
    value: readPrice(payload, topic.isScaled),
    source,
    ...at,
  }
  return { events: [price], problems: [] }
}

// Every message names one of some dozen symbols, so each series has one value.
const MAX_INSTRUMENTS = 1024
const instruments = new BoundedMap<string, Instrument>(MAX_INSTRUMENTS)

function instrumentOf({ feed, symbol }: Topic, text: unknown): Instrument | undefined {
  if (typeof text !== 'string') return undefined
  const asset = symbol.exec(text)?.[1]?.toUpperCase()
  if (asset === undefined) return undefined
  const name = `${feed} ${asset}`
  const known = instruments.get(name) ?? referenceInstrument('venuec', { feed, asset })
  instruments.set(name, known)
  return known
}

// Doubles agree with the exact price to 15 digits; a price of another scale does not.
const AGREEMENT = 1e-9

// The exact price where the message has it. `value` is a double beside it, and must be about the same: a
// price that is wrong by its scale would be believed.
function readPrice(payload: NativeObject, isScaled: boolean): string {
  const { value, full_accuracy_value: full } = payload
  const text = plainDecimal(decimalText(decimalOf(value, 'value')))
  if (!(Number(text) > 0)) throw wrong('value', value, 'a price above 0')
  if (full === undefined || full === null || full === '') return text
  if (typeof full !== 'string') throw wrong('full_accuracy_value', full, 'text')
  const exact = canonicalDecimal(isScaled && !full.includes('.') ? descale(full) : full)
  if (Math.abs(Number(exact) - Number(text)) > AGREEMENT * Number(text)) {
    throw wrong('full_accuracy_value', full, `about ${text}`)
  }
  return exact
}

const SCALE = 18

function descale(digits: string): string {
  const padded = digits.padStart(SCALE + 1, '0')
  return `${padded.slice(0, -SCALE)}.${padded.slice(-SCALE)}`
}

// JSON numbers below 1e-6 print with an exponent.
function plainDecimal(text: string): string {
  const [, whole, part = '', power] = /^(\d)(?:\.(\d+))?e-([1-9]\d?)$/.exec(text) ?? []
  if (whole === undefined) return canonicalDecimal(text)
  return `0.${'0'.repeat(Number(power) - 1)}${whole}${part}`
}
