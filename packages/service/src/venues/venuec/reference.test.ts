import { describe, expect, it } from 'vitest'
import { PriorbookError, toMicros } from '@priorbook/sdk/domain'
import { createVenueCNormalizer } from './normalize.ts'
import { referenceOf } from './reference.ts'

const at = { received: toMicros(1_788_600_390_000_000), journal: 7 }
const normalizer = createVenueCNormalizer()

// Forms of frames as the venue sent them in September 2026; the numbers are those of the published examples.
const UPDATES = {
  exchange: {
    connection_id: 'gZexFa6cUWeIKEiTDA==',
    payload: {
      full_accuracy_value: '79697.73000000',
      symbol: 'btcusdt',
      timestamp: 1_788_600_389_000,
      value: 79_697.73,
    },
    timestamp: 1_788_600_389_154,
    topic: 'crypto_prices',
    type: 'update',
  },
  chainlink: {
    payload: {
      full_accuracy_value: '79696948174287960000000',
      symbol: 'btc/usd',
      timestamp: 1_788_600_388_000,
      value: 79_696.948_174_287_96,
    },
    timestamp: 1_788_600_389_451,
    topic: 'crypto_prices_chainlink',
    type: 'update',
  },
  twap60: {
    payload: {
      full_accuracy_value: '79697575317474428059648',
      symbol: 'btc/usd',
      timestamp: 1_788_600_388_000,
      value: 79_697.575_317_474_43,
      window_s: 60,
    },
    timestamp: 1_788_600_389_495,
    topic: 'crypto_prices_twap_sixty',
    type: 'update',
  },
}

function priceOf(message: object): unknown {
  const { events } = normalizer.frame(message, at)
  expect(events).toHaveLength(1)
  return events[0]
}

function spoilt(change: object, of: keyof typeof UPDATES = 'chainlink'): () => unknown {
  const message = UPDATES[of]
  return () => priceOf({ ...message, payload: { ...message.payload, ...change } })
}

describe('a reference price', () => {
  it('is the exact decimal that the topic’s form means', () => {
    expect(priceOf(UPDATES.exchange)).toStrictEqual({
      kind: 'sample',
      instrument: { venue: 'venuec', market: 'reference', key: 'reference/exchange/BTC' },
      metric: 'price',
      value: '79697.73',
      source: 1_788_600_389_000_000,
      received: at.received,
      journal: 7,
    })
    expect(priceOf(UPDATES.chainlink)).toMatchObject({
      instrument: { key: 'reference/chainlink/BTC' },
      value: '79696.94817428796',
    })
    expect(priceOf(UPDATES.twap60)).toMatchObject({
      instrument: { key: 'reference/twap60/BTC' },
      value: '79697.575317474428059648',
    })
  })

  it('is the double where there is nothing more exact', () => {
    expect(spoilt({ full_accuracy_value: undefined })()).toMatchObject({
      value: '79696.94817428796',
    })
    expect(spoilt({ full_accuracy_value: null, value: 4.3e-7 })()).toMatchObject({
      value: '0.00000043',
    })
  })

  it.each([
    { value: null },
    { value: {} },
    { value: -1, full_accuracy_value: undefined },
    { value: 0, full_accuracy_value: undefined },
    { value: '1e-0', full_accuracy_value: undefined },
    { value: '1e-00', full_accuracy_value: undefined },
    { value: 79_696.95, full_accuracy_value: '79696.948' },
    { full_accuracy_value: '79696948174287960' },
    { full_accuracy_value: 'NaN' },
    { full_accuracy_value: 7 },
    { timestamp: 'soon' },
    { timestamp: undefined },
    { symbol: 7 },
    { symbol: undefined },
  ])('is refused where the message has %j', (change) => {
    expect(spoilt(change)).toThrow(PriorbookError)
  })

  it('is refused where an exchange price has the form of an oracle’s', () => {
    expect(spoilt({ full_accuracy_value: '79697730000000000000000' }, 'exchange')).toThrow(
      PriorbookError,
    )
  })

  it.each(['btc-usd', 'btcusdc', ''])('is of another asset where the symbol is %j', (symbol) => {
    const message = { ...UPDATES.exchange, payload: { ...UPDATES.exchange.payload, symbol } }
    expect(normalizer.frame(message, at)).toStrictEqual({ events: [], problems: [] })
  })

  it('comes of updates alone: what is sent on subscribing is of the past', () => {
    const data = [{ timestamp: 1_788_608_387_000, value: 79_639.2 }]
    const dump = { topic: 'crypto_prices', type: 'subscribe', payload: { data, symbol: 'btc/usd' } }
    expect(normalizer.frame(dump, at)).toStrictEqual({ events: [], problems: [] })
  })
})

describe('an unreadable message', () => {
  it('concerns the series that it names', () => {
    const message = { ...UPDATES.twap60, type: 'nonsense' }
    expect(() => normalizer.frame(message, at)).toThrow(PriorbookError)
    expect(normalizer.suspects?.(message)).toStrictEqual(['reference/twap60/BTC'])
  })

  it('names none where its topic or symbol is not known', () => {
    expect(referenceOf({ ...UPDATES.chainlink, topic: 'crypto_prices_of_mars' })).toBeUndefined()
    expect(referenceOf({ ...UPDATES.chainlink, payload: null })).toBeUndefined()
    expect(referenceOf('pong')).toBeUndefined()
  })
})
