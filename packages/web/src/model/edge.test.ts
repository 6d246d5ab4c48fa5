import type { ConsolidatedJson, ContractBooksJson, SpreadJson } from '@priorbook/sdk/client'
import { describe, expect, it } from 'vitest'
import { isOneInstant, joinSpans, sortEdges } from './edge.ts'

function span(
  [start, end]: readonly [number, number],
  edge: string,
  more: Partial<SpreadJson> & { readonly to?: 'venueb' | 'venuec' } = {},
): SpreadJson {
  const { to = 'venueb', ...rest } = more
  const leg = { market_id: 'M', outcome: 'Yes', price: '0.5', net_price: '0.5' }
  return {
    yes: { ...leg, venue: 'venuea' },
    no: { ...leg, venue: to },
    start_time: start,
    end_time: end,
    duration_ms: '0',
    ended_by: 'range',
    best_edge: edge,
    best_time: start,
    fillable_size: edge,
    rows: {
      start: { yes: `s${start}`, no: 's' },
      best: { yes: `b${start}`, no: 'b' },
      end: null,
    },
    ...rest,
  }
}

describe('edges', () => {
  it('are sorted by all of their digits, the largest first', () => {
    const edges = ['0.02', '0.100000000001', '0.1'].map((edge) => span([1, 2], edge))
    expect(sortEdges(edges).map((one) => one.best_edge)).toEqual(['0.100000000001', '0.1', '0.02'])
  })

  it('that go on in the next range are one, with the best moment of both', () => {
    const before = [span([1000, 5000], '0.01'), span([2000, 5000], '0.5', { to: 'venuec' })]
    const after = [
      span([5000, 9250], '0.02', { ended_by: 'edge', best_time: 6000 }),
      span([5000, 6000], '0.4', { to: 'venuec', ended_by: 'gap' }),
      span([7000, 8000], '0.3'),
    ]
    const [one, two, three, ...others] = joinSpans(before, after)
    expect(one).toMatchObject({
      start_time: 1000,
      end_time: 9250,
      duration_ms: '8.25',
      ended_by: 'edge',
      best_edge: '0.02',
      best_time: 6000,
      rows: { start: { yes: 's1000' }, best: { yes: 'b5000' } },
    })
    expect(two).toMatchObject({
      start_time: 2000,
      end_time: 6000,
      duration_ms: '4',
      ended_by: 'gap',
      best_edge: '0.5',
      rows: { best: { yes: 'b2000' } },
    })
    expect(three).toMatchObject({ start_time: 7000, best_edge: '0.3' })
    expect(others).toEqual([])
  })

  it('that ended are not joined with later ones, nor those of another pair', () => {
    const ended = span([1, 5], '0.1', { ended_by: 'gap' })
    expect(joinSpans([ended], [span([5, 6], '0.1')])).toHaveLength(2)
    expect(joinSpans([span([1, 5], '0.1')], [span([5, 6], '0.1', { to: 'venuec' })])).toHaveLength(
      2,
    )
  })
})

describe('answers about an instant', () => {
  it('are of one instant where they come from the same rows', () => {
    const of = (...ids: (string | null)[]) =>
      ({ members: ids.map((id) => ({ row_id: id })) }) as unknown as ContractBooksJson &
        ConsolidatedJson
    expect(isOneInstant(of('a:1', null), of('a:1', null))).toBe(true)
    expect(isOneInstant(of('a:1', 'b:1'), of('a:1', 'b:2'))).toBe(false)
    expect(isOneInstant(of('a:1', null), of('a:1', 'b:2'))).toBe(false)
  })
})
