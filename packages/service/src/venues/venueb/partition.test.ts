import { VENUES, type MarketRecord } from '@priorbook/sdk/domain'
import { expect, it } from 'vitest'
import { partition, type PartitionInput } from './partition.ts'
import { VenueBMarkets } from './markets.ts'

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

/** Sockets that are up, with room for some markets. */
const sockets = (
  changes: Partial<NonNullable<PartitionInput['sockets']>> = {},
  room = 10,
): NonNullable<PartitionInput['sockets']> => ({
  holds: () => false,
  isMuted: () => false,
  isPlaced: () => false,
  place: () => (room-- > 0 ? 'up' : undefined),
  ...changes,
})

function shared(changes: Partial<PartitionInput> = {}): [socket: string, polled: string] {
  const markets = new VenueBMarkets(2 * MINUTE, 1000)
  markets.update(record('LATE', 10 * MINUTE, 20 * MINUTE, 'initialized'), NOW)
  markets.update(record('SOON', MINUTE, 16 * MINUTE, 'initialized'), NOW)
  markets.update(record('OPEN', -MINUTE, 14 * MINUTE), NOW)
  markets.update(record('PAUSED', -MINUTE, 15 * MINUTE, 'inactive'), NOW)
  markets.update(record('JUST', -15 * MINUTE, -1000), NOW)
  markets.update(record('OVER', -30 * MINUTE, -15 * MINUTE, 'determined'), NOW)
  markets.update(record('DONE', -30 * MINUTE, -15 * MINUTE, 'finalized'), NOW)
  markets.resume('OLD', NOW, undefined)
  const { subscribed, polled } = partition({
    markets,
    nowMs: NOW,
    tierOf: () => 'full',
    orderOf: () => 0,
    sockets: sockets(),
    lingerMs: 15_000,
    historyMs: 60 * MINUTE,
    onSocketMs: new Map(),
    ...changes,
  })
  return [subscribed.join(), polled.map(({ key }) => key).join()]
}

it('the socket gets the markets that trade, are about to, or just closed', () => {
  expect(shared()).toStrictEqual(['JUST,OPEN,PAUSED,SOON', ''])
})

it('trading markets are polled without a socket', () => {
  expect(shared({ sockets: undefined })).toStrictEqual(['', 'OPEN,PAUSED'])
  expect(shared({ sockets: sockets({ place: () => 'down' }) })).toStrictEqual(['', 'OPEN,PAUSED'])
  expect(shared({ sockets: sockets({ place: () => 'back_soon' }) })).toStrictEqual(['', ''])
})

it('markets beyond the socket or not served by it are polled, except those it still holds', () => {
  expect(shared({ sockets: sockets({}, 2) })).toStrictEqual(['JUST,OPEN', 'PAUSED'])
  const isMuted = (ticker: string): boolean => ticker === 'OPEN'
  expect(shared({ sockets: sockets({ isMuted }) })[1]).toBe('OPEN')
  expect(shared({ sockets: sockets({ holds: () => true, isMuted }) })[1]).toBe('')
})

it('sockets get markets in the given order, then by their close', () => {
  const orderOf: PartitionInput['orderOf'] = ({ marketId }) => (marketId === 'JUST' ? 5 : 1)
  expect(shared({ orderOf, sockets: sockets({}, 3) })).toStrictEqual(['OPEN,PAUSED,SOON', ''])
})

it('markets that are polled come by their close, and a muted one keeps its place', () => {
  const markets = new VenueBMarkets(0, 1000)
  for (const [id, minutes] of [
    ['LATE', 30],
    ['SOON', 1],
    ['NEXT', 5],
  ] as const) {
    markets.update(record(id, -MINUTE, minutes * MINUTE), NOW)
  }
  const { muted, polled } = partition({
    markets,
    nowMs: NOW,
    tierOf: ({ marketId }) => (marketId === 'NEXT' ? 'full' : 'polled'),
    orderOf: () => 0,
    sockets: sockets({ isMuted: () => true }),
    lingerMs: 0,
    historyMs: 0,
    onSocketMs: new Map(),
  })
  expect(muted).toStrictEqual(['NEXT'])
  expect(polled.map(({ key }) => key)).toStrictEqual(['SOON', 'NEXT', 'LATE'])
})

it('markets are recorded as deep as their tier says', () => {
  const tierOf: PartitionInput['tierOf'] = ({ marketId }) =>
    marketId === 'OPEN' ? 'polled' : marketId === 'PAUSED' ? 'catalogue' : 'full'
  expect(shared({ tierOf })).toStrictEqual(['JUST,SOON', 'OPEN'])
})

it('trades are requested since a market was last on the socket, or since it opened', () => {
  const markets = new VenueBMarkets(0, 1000)
  markets.update(record('A', -MINUTE, MINUTE), NOW)
  markets.update(record('B', -9 * MINUTE, MINUTE), NOW)
  markets.update(record('C', -MINUTE, MINUTE), NOW)
  const onSocketMs = new Map([['C', NOW - 7]])
  const tierOf = (): 'full' => 'full'
  const input = { markets, nowMs: NOW, tierOf, orderOf: () => 0, lingerMs: 0, onSocketMs }
  const { polled } = partition({ ...input, sockets: undefined, historyMs: 5 * MINUTE })
  expect(polled.map(({ key, sinceMs }) => [key, NOW - sinceMs])).toStrictEqual([
    ['A', MINUTE],
    ['B', 5 * MINUTE],
    ['C', 7],
  ])
  partition({ ...input, sockets: sockets(), historyMs: 5 * MINUTE })
  expect(onSocketMs.get('A')).toBe(NOW)
})
