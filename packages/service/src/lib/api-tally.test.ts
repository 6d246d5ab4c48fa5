import { expect, it } from 'vitest'
import { addTallies, endedTally, NO_TALLY, RequestTally } from './api-tally.ts'

it('counts requests by route, status and time, over processes that come and go', () => {
  const one = new RequestTally()
  one.note('markets', 200, 0.001, 100)
  one.note('markets', 200, 0.0011, 100)
  one.note('markets', 404, 99, 10)
  const two = new RequestTally()
  two.note('markets', 200, 0.3, 1)
  const first = one.read({
    memoryBytes: 5,
    stream: { connections: 2, subscriptions: 3, held: 1 },
  })
  const both = addTallies(
    first,
    two.read({ memoryBytes: 7, stream: { connections: 1, subscriptions: 1, held: 0 } }),
  )
  expect(both.requests).toEqual({ 'markets 200': 3, 'markets 404': 1 })
  expect(both.times).toEqual({
    'markets 2xx': { counts: [1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], seconds: 0.0021 + 0.3 },
    'markets 4xx': { counts: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], seconds: 99 },
  })
  expect(both).toMatchObject({ processes: 2, bytes: 211, memoryBytes: 12 })
  expect(both.stream).toEqual({ connections: 3, subscriptions: 4, held: 1 })
  const ended = addTallies(NO_TALLY, endedTally(first))
  expect(ended.requests).toEqual(first.requests)
  expect(ended.times).toEqual(first.times)
  expect(ended).toMatchObject({ processes: 0, memoryBytes: 0, stream: NO_TALLY.stream })
})
