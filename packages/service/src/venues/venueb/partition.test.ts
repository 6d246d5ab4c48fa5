import { VENUES, type MarketRecord } from '@priorbook/sdk/domain'
import { expect, it } from 'vitest'
import { createFollowed } from './followed.ts'
import { partition, type PartitionInput } from './partition.ts'

const NOW = 1_790_000_000_000
const MINUTE = 60_000

const record = (marketId: string, opensIn: number, closesIn: number, statusNative = 'active') => ({
  venue: 'venueb' as const,
  marketId,
  statusNative,
  openTime: ((NOW + opensIn) * 1000) as NonNullable<MarketRecord['openTime']>,
  closeTime: ((NOW + closesIn) * 1000) as NonNullable<MarketRecord['closeTime']>,
  outcomes: [],
  units: VENUES.venueb.units,
  native: {},
})

function shared(changes: Partial<PartitionInput> = {}): [socket: string, polled: string] {
  const followed = createFollowed(2 * MINUTE, 1000)
  followed.update(record('LATE', 10 * MINUTE, 20 * MINUTE, 'initialized'), NOW)
  followed.update(record('SOON', MINUTE, 16 * MINUTE, 'initialized'), NOW)
  followed.update(record('OPEN', -MINUTE, 14 * MINUTE), NOW)
  followed.update(record('PAUSED', -MINUTE, 15 * MINUTE, 'inactive'), NOW)
  followed.update(record('JUST', -15 * MINUTE, -1000), NOW)
  followed.update(record('OVER', -30 * MINUTE, -15 * MINUTE, 'determined'), NOW)
  followed.update(record('DONE', -30 * MINUTE, -15 * MINUTE, 'finalized'), NOW)
  followed.resume('OLD', NOW)
  const { socket, polled } = partition({
    followed,
    nowMs: NOW,
    stream: { holds: () => false, isMute: () => false },
    isPolling: true,
    socketMarkets: 10,
    lingerMs: 15_000,
    historyMs: 60 * MINUTE,
    sinceOf: new Map(),
    ...changes,
  })
  return [socket.join(), polled.map(({ key }) => key).join()]
}

it('gives the socket what trades, is about to, or just ended', () => {
  expect(shared()).toStrictEqual(['JUST,OPEN,PAUSED,SOON', ''])
})

it('polls what trades where there is no socket', () => {
  expect(shared({ stream: undefined })).toStrictEqual(['', 'OPEN,PAUSED'])
  expect(shared({ stream: undefined, isPolling: false })).toStrictEqual(['', ''])
})

it('polls what is beyond the socket or not served by it, but nothing that it still holds', () => {
  expect(shared({ socketMarkets: 2 })).toStrictEqual(['JUST,OPEN', 'PAUSED'])
  const isMute = (ticker: string): boolean => ticker === 'OPEN'
  expect(shared({ stream: { holds: () => false, isMute } })[1]).toBe('OPEN')
  expect(shared({ stream: { holds: () => true, isMute } })[1]).toBe('')
})

it('asks for trades since a market was last on the socket, or since it opened', () => {
  const followed = createFollowed(0, 1000)
  followed.update(record('A', -MINUTE, MINUTE), NOW)
  followed.update(record('B', -9 * MINUTE, MINUTE), NOW)
  followed.update(record('C', -MINUTE, MINUTE), NOW)
  const sinceOf = new Map([['C', NOW - 7]])
  const input = { followed, nowMs: NOW, isPolling: true, socketMarkets: 9, lingerMs: 0, sinceOf }
  const { polled } = partition({ ...input, stream: undefined, historyMs: 5 * MINUTE })
  expect(polled.map(({ key, sinceMs }) => [key, NOW - sinceMs])).toStrictEqual([
    ['A', MINUTE],
    ['B', 5 * MINUTE],
    ['C', 7],
  ])
  const stream = { holds: () => false, isMute: () => false }
  partition({ ...input, stream, historyMs: 5 * MINUTE })
  expect(sinceOf.get('A')).toBe(NOW)
})
