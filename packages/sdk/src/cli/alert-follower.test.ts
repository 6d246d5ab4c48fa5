import { expect, it } from 'vitest'
import { parseAlertRule } from '../alerts/index.ts'
import type { LiveMessage } from '../client/index.ts'
import { AlertFollower } from './alert-follower.ts'

const VENUE = { venue: 'venueb', market_id: 'M' } as const

function book(sequence: number, middle: number, isFirst = sequence === 1): LiveMessage {
  const side = (price: number) => ({ price: [price.toFixed(2)], size: ['10'] })
  return {
    type: isFirst ? 'snapshot' : 'update',
    key: 'M',
    sequence,
    previous_sequence: isFirst ? null : sequence - 1,
    row: {
      ...VENUE,
      sequence,
      received_time: `2026-11-17T17:45:0${sequence}.000000Z`,
      outcome: null,
      bids: side(middle - 0.01),
      asks: side(middle + 0.01),
    },
  } as unknown as LiveMessage
}

function gap(scope: 'instrument' | 'venue', end: string | null): LiveMessage {
  return {
    type: 'gap',
    gap: {
      venue: 'venueb',
      scope,
      key: scope === 'venue' ? null : 'M',
      reason: 'disconnected',
      start_time: '2026-11-17T17:45:00.000000Z',
      end_time: end,
      after_sequence: 1,
    },
  } as unknown as LiveMessage
}

it('fires between two books that nothing separates, and not after gaps, holes and snapshots', () => {
  const rule = parseAlertRule({ kind: 'price', ...VENUE, above: '0.5' }, false)
  const follower = new AlertFollower(rule)
  const hole = { type: 'hole', venue: 'venueb', key: 'M' } as unknown as LiveMessage
  const messages = [
    book(1, 0.6), // The first book never fires.
    book(2, 0.4),
    book(3, 0.6), // fires
    book(4, 0.4),
    gap('instrument', '2026-11-17T17:45:05.000000Z'),
    book(5, 0.6),
    book(6, 0.4),
    gap('venue', null),
    book(7, 0.6),
    book(8, 0.4),
    hole,
    book(9, 0.6, true),
  ]
  const fired = messages.flatMap((message) => follower.apply(message))
  expect(fired.map(({ row_id: row }) => row)).toEqual(['venueb:M:3'])
  expect(fired[0]).toMatchObject({ value: '0.6', what: '0.6 is above 0.5' })
})

it('tells when gaps begin and end, but not of those that were open before', () => {
  const rule = parseAlertRule({ kind: 'gap', ...VENUE }, false)
  const follower = new AlertFollower(rule)
  const done = { type: 'snapshots_done', id: 'live-1' } as unknown as LiveMessage
  const end = '2026-11-17T17:46:00.000000Z'
  const messages = [
    gap('venue', null),
    done,
    gap('venue', end),
    gap('instrument', null),
    gap('instrument', end),
  ]
  const told = messages.flatMap((message) => follower.apply(message)).map(({ what }) => what)
  expect(told).toEqual([
    'gap ended: disconnected',
    'gap begun: disconnected',
    'gap ended: disconnected',
  ])
})
