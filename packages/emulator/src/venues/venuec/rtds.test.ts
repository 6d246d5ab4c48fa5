import { describe, expect, it } from 'vitest'
import { createTestWire, createTestWorld } from '../venuea/world.testing.ts'
import { createRtds } from './rtds.ts'

const CHAINLINK = 'crypto_prices_chainlink'

/** A client of the socket, and the messages that it got. */
function connect(speed = 1) {
  const world = createTestWorld('venuec')
  const rtds = createRtds(world, speed)
  const wire = createTestWire()
  const session = rtds.open(wire)
  const subscribe = (...subscriptions: object[]): void =>
    session.onText(JSON.stringify({ action: 'subscribe', subscriptions }))
  const heard = (): Record<string, unknown>[] =>
    wire.sent.flatMap(({ text }) =>
      text.startsWith('{') ? [JSON.parse(text) as Record<string, unknown>] : [],
    )
  return { world, rtds, wire, session, subscribe, heard }
}

describe('the socket of prices', () => {
  it('greets with an empty frame and answers pings', () => {
    const { wire, session } = connect()
    session.onText('ping')
    session.onText('PING')
    expect(wire.sent.map(({ text }) => text)).toEqual(['', 'pong', 'PONG'])
  })

  it('sends a price of every asset a second, in the form of its topic', () => {
    const { rtds, subscribe, heard, wire } = connect()
    subscribe({ topic: CHAINLINK, type: 'update' }, { topic: 'crypto_prices', type: '*' })
    for (let at = 1_000_000; at <= 1_002_000; at += 20) rtds.onStep(at)
    const bitcoin = heard().filter(({ payload }) => JSON.stringify(payload).includes('"btc'))
    expect(bitcoin).toHaveLength(6)
    const value = 63_123.54
    expect(bitcoin.slice(0, 2)).toEqual([
      {
        topic: 'crypto_prices',
        type: 'update',
        timestamp: 1_000_000,
        payload: {
          symbol: 'btcusdt',
          timestamp: 1_000_000,
          value,
          full_accuracy_value: '63123.54000000',
        },
      },
      {
        topic: CHAINLINK,
        type: 'update',
        timestamp: 1_000_000,
        payload: {
          symbol: 'btc/usd',
          timestamp: 1_000_000,
          value,
          full_accuracy_value: value.toFixed(18).replace('.', ''),
        },
      },
    ])
    expect(wire.sent.flatMap(({ payloads }) => payloads)).toContainEqual({
      kind: 'sample',
      key: 'reference/exchange/ETH',
      metric: 'price',
      value: '63123.54000000',
    })
  })

  it('sends the averages of the last seconds as the world has them, of the past too', () => {
    const { rtds, subscribe, heard } = connect()
    rtds.onStep(1_000_000)
    const filters = JSON.stringify({ symbol: 'eth/usd' })
    subscribe({ topic: 'crypto_prices_twap_sixty', type: 'update', filters })
    subscribe({ topic: 'crypto_prices_twap_thirty', type: 'update', filters })
    rtds.onStep(1_001_000)
    const shown = heard().map(({ topic, type, payload }) => [topic, type, payload])
    const past = (value: number) => ({ symbol: 'eth/usd', data: [{ timestamp: 1_000_000, value }] })
    const now = (value: number) => expect.objectContaining({ value, window_s: value - 63_000 })
    expect(shown).toEqual([
      ['crypto_prices_twap_sixty', 'subscribe', past(63_060)],
      ['crypto_prices_twap_thirty', 'subscribe', past(63_030)],
      ['crypto_prices_twap_thirty', 'update', now(63_030)],
      ['crypto_prices_twap_sixty', 'update', now(63_060)],
    ])
  })

  it('sends the past to who names a symbol, and later only that', () => {
    const { rtds, subscribe, heard } = connect()
    rtds.onStep(1_000_000)
    const filters = JSON.stringify({ symbol: 'eth/usd' })
    subscribe({ topic: CHAINLINK, type: 'update', filters })
    rtds.onStep(1_001_000)
    const shown = heard().map(({ topic, type, payload }) => {
      return [topic, type, (payload as { symbol: string }).symbol]
    })
    expect(shown).toEqual([
      ['crypto_prices', 'subscribe', 'eth/usd'],
      [CHAINLINK, 'update', 'eth/usd'],
    ])
  })

  it('refuses a message with a topic that does not exist', () => {
    const { rtds, subscribe, heard } = connect()
    subscribe({ topic: CHAINLINK, type: 'update' }, { topic: 'prices_of_mars', type: 'update' })
    rtds.onStep(1_000_000)
    expect(heard()).toEqual([
      {
        body: { message: 'topic: prices_of_mars and type: update not found' },
        statusCode: 401,
      },
    ])
  })

  it('sends the price on which a round begins and ends, between two seconds too', () => {
    const { world, rtds, subscribe, heard } = connect()
    world.listen((event) => rtds.onEvent(event))
    subscribe({ topic: CHAINLINK, type: 'update' })
    rtds.onStep(1_000_000)
    const round = world.list({ asset: 'ETH' })
    world.phase(round, 'open', undefined)
    rtds.onStep(1_000_020)
    const last = heard().at(-1) as { payload: { symbol: string; timestamp: number } }
    expect(last.payload).toMatchObject({ symbol: 'eth/usd', timestamp: 1_000_020 })
  })

  it('is not faster than ten prices a second, whatever the speed', () => {
    const { rtds, subscribe, heard } = connect(60)
    subscribe({ topic: CHAINLINK, type: 'update', filters: 'btc/usd' })
    for (let at = 1_000_000; at < 1_001_000; at++) rtds.onStep(at)
    expect(heard()).toHaveLength(10)
  })
})
