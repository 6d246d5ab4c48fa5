import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.testing.ts'
import { MAX_BOOK_SLOT } from '../capture/contract.ts'
import { createTestSink } from '../capture/sink.testing.ts'
import { createVenueCNormalizer } from './normalize.ts'
import { TokenSockets } from './socket.ts'

it('tokens that no socket had room for are subscribed once others are gone', () => {
  const errors: object[] = []
  const silent = (): void => undefined
  const sockets = new TokenSockets({
    url: 'ws://127.0.0.1:9',
    tokensPerSocket: 2,
    pingMs: 10_000,
    sink: createTestSink(createVenueCNormalizer()),
    log: { info: silent, warn: silent, error: (fields) => void errors.push(fields) },
    clock: new ManualClock(),
    onSubscribed: silent,
    onFrame: () => true,
    expectsData: () => false,
  })
  const subscribed = (): number =>
    sockets.status.reduce((sum, { subscriptions }) => sum + subscriptions, 0)
  const count = MAX_BOOK_SLOT + 20
  const markets = Array.from({ length: count }, (_, market) => [`${market}-yes`, `${market}-no`])
  sockets.add(markets, 2 * count)
  expect([subscribed(), sockets.homeless, errors]).toEqual([
    2 * MAX_BOOK_SLOT,
    40,
    [{ tokens: 40 }],
  ])
  sockets.addHomeless(2 * count)
  expect([subscribed(), sockets.homeless]).toEqual([2 * MAX_BOOK_SLOT, 40])
  sockets.remove(markets.slice(0, 5).flat())
  sockets.addHomeless(2 * count)
  expect([subscribed(), sockets.homeless]).toEqual([2 * MAX_BOOK_SLOT, 30])
  sockets.remove(markets.slice(-10).flat())
  sockets.remove(markets.slice(5, 30).flat())
  sockets.addHomeless(2 * count)
  expect(sockets.homeless).toBe(0)
  expect(errors).toHaveLength(1)
})
