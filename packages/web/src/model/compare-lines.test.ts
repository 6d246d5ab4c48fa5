import type { ContractSnapshotJson } from '@priorbook/sdk/client'
import type { GapJson } from '@priorbook/sdk/wire'
import { describe, expect, it } from 'vitest'
import {
  commonGaps,
  gapsOfMember,
  knownSpans,
  toCompareLines,
  toFirstRow,
  toPoints,
  withRows,
} from './compare-lines.ts'
import type { GapSpan } from './gap.ts'
import { SECOND } from './time.ts'

const at = (seconds: number): number => 1_000_000_000 * SECOND + seconds * SECOND

type Cell = readonly [received: number, bid: string | null, ask: string | null] | string

function row(second: number, ...cells: readonly Cell[]): ContractSnapshotJson {
  return {
    bucket_start: at(second),
    bucket_end: at(second + 1),
    members: cells.map((cell) => {
      const isWord = typeof cell === 'string'
      return {
        venue: 'venueb',
        market_id: 'M',
        best_bid: isWord ? null : cell[1],
        best_bid_size: null,
        best_ask: isWord ? null : cell[2],
        best_ask_size: null,
        row_id: null,
        received_time: isWord ? null : at(cell[0]),
        age_ms: null,
        reason: isWord ? cell : null,
      }
    }),
  }
}

function gap(from: number, to?: number): GapSpan {
  const end = to === undefined ? undefined : at(to)
  return { start: at(from), end, reason: 'disconnected', scope: 'instrument', detail: null }
}

// The value of a line at a time: that of its last point, as a stepped line draws it.
function valueAt(lines: ReturnType<typeof toCompareLines>, line: number, second: number) {
  const index = lines[0].findLastIndex((time) => time <= at(second) / 1e6)
  return index === -1 ? null : lines[line]![index]
}

describe('the lines of a contract', () => {
  it('hold a book until the next one, and nothing inside a gap', () => {
    const rows = [
      row(0, [0.5, '0.4', '0.5'], 'before_capture'),
      row(1, 'no_observation', [1.25, '0.6', null]),
      row(2, [2.75, '0.41', '0.51'], 'no_observation'),
      row(3, 'disconnected', 'no_observation'),
      row(4, [4.5, '0.3', '0.4'], 'no_observation'),
    ]
    const lines = toCompareLines(
      [toPoints(rows, 0, [gap(2.9, 4.4)], at(6)), toPoints(rows, 1, [], at(6))],
      'quotes',
    )
    const bid = (second: number) => valueAt(lines, 1, second)
    expect([0.4, 0.5, 1.9, 2.8, 2.9].map(bid)).toEqual([null, 0.4, 0.4, 0.41, 0.41])
    expect([2.91, 3.5, 4.4, 4.49].map(bid)).toEqual([null, null, null, null])
    expect([4.5, 6, 6.1].map(bid)).toEqual([0.3, 0.3, null])
    // The other member goes on; the side that is empty has no line.
    expect([1, 1.25, 3.5, 6].map((second) => valueAt(lines, 3, second))).toEqual([
      null,
      0.6,
      0.6,
      0.6,
    ])
    expect(lines[4]!.every((value) => value === null)).toBe(true)
    // Every line has a value or null for every time, in ascending order.
    expect(new Set(lines.map(({ length }) => length)).size).toBe(1)
    expect(lines[0]).toEqual(lines[0].toSorted((a, b) => a - b))
  })

  it('end at a gap that lies between two books of one bucket', () => {
    const rows = [row(0, [0.1, '0.4', '0.5']), row(1, [1.9, '0.7', '0.8'])]
    const lines = toCompareLines([toPoints(rows, 0, [gap(1.2, 1.6)], at(3))], 'middle')
    expect([0.1, 1.2, 1.3, 1.7, 1.9].map((second) => valueAt(lines, 1, second))).toEqual([
      0.45,
      0.45,
      null,
      null,
      0.75,
    ])
  })

  it('end where a gap is still open, and where the market has closed', () => {
    const rows = [row(0, [0.1, '0.4', '0.5'], [0.2, '0.4', '0.5']), row(1, 'x', 'market_closed')]
    const open = toPoints(rows, 0, [gap(0.5)], at(9))
    const closed = toPoints(rows, 1, [], at(9))
    const lines = toCompareLines([open, closed], 'middle')
    expect([0.5, 0.6, 8].map((second) => valueAt(lines, 1, second))).toEqual([0.45, null, null])
    expect([0.9, 1, 8].map((second) => valueAt(lines, 2, second))).toEqual([0.45, null, null])
    expect(knownSpans(open)).toEqual([{ start: at(0.1), end: at(0.5) + 1 }])
  })

  it('know a book that is empty', () => {
    const points = toPoints([row(0, [0.5, null, null]), row(1, [1.5, '0.2', null])], 0, [], at(2))
    expect(knownSpans(points)).toEqual([{ start: at(0.5), end: at(2) + 1 }])
    expect(knownSpans(toPoints([row(0, 'before_capture')], 0, [], at(2)))).toEqual([])
  })
})

describe('gaps of a contract', () => {
  it('belong to the member whose book, market or venue they concern', () => {
    const wire = (venue: string, scope: string, key: string): GapJson =>
      ({
        venue,
        scope,
        key,
        reason: 'disconnected',
        start_time: at(1),
        end_time: at(2),
        detail: null,
      }) as unknown as GapJson
    const all = [
      wire('venueb', 'venue', ''),
      wire('venueb', 'instrument', 'M'),
      wire('venueb', 'instrument', 'OTHER'),
      wire('venuec', 'instrument', '21'),
      wire('venuec', 'instrument', '22'),
      wire('venuec', 'market', '0xc1'),
    ]
    const count = (venue: 'venueb' | 'venuec', id: string, token: string | null) =>
      gapsOfMember(all, {
        venue,
        market_id: id,
        yes: { outcome: 'Yes', index: 0, token_id: token },
      }).length
    expect(count('venueb', 'M', null)).toBe(2)
    // Only those of the token that is Yes.
    expect(count('venuec', '0xc1', '21')).toBe(2)
  })

  it('are common where no member was observed', () => {
    expect(commonGaps([[gap(1, 5)], [gap(0, 2), gap(4, 9)], [gap(1.5)]])).toEqual([
      { ...gap(1.5, 2) },
      { ...gap(4, 5) },
    ])
    expect(commonGaps([[gap(1)], [gap(2)]])).toEqual([gap(2)])
    expect(commonGaps([[gap(1, 2)], []])).toEqual([])
  })
})

describe('new buckets', () => {
  it('replace those from the first one on', () => {
    const before = [row(0, 'a'), row(1, 'b')]
    const rows = withRows(before, [row(1, 'c'), row(2, 'd')])
    expect(rows.map(({ members }) => members[0]!.reason)).toEqual(['a', 'c', 'd'])
    expect(withRows(before, [])).toBe(before)
  })
})

it('the books of an instant are what is valid before the first bucket', () => {
  const member = {
    venue: 'venueb',
    market_id: 'M',
    outcome: 'Yes',
    source_time: null,
    is_complement: false,
    flags: [],
    row_id: null,
    age_ms: null,
  } as const
  const first = toFirstRow({
    contract_id: 'x',
    at: at(10),
    members: [
      {
        ...member,
        bids: { price: ['0.4'], size: ['1'] },
        asks: { price: ['0.6'], size: ['2'] },
        received_time: at(3),
        reason: null,
      },
      {
        ...member,
        bids: null,
        asks: null,
        received_time: null,
        reason: { code: 'disconnected', message: 'Lost.', gap: null },
      },
    ],
  })
  // The first member holds its book from before; of the second nothing is known.
  const held = toPoints([first], 0, [], at(20))
  expect(held[0]).toEqual({ time: at(3), bid: 0.4, ask: 0.6, isKnown: true })
  expect(toPoints([first], 1, [], at(20))[0]).toMatchObject({ time: at(10), isKnown: false })
})
