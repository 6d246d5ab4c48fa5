import type { ContractJson, ListedMarketJson } from '@priorbook/sdk/client'
import { describe, expect, it } from 'vitest'
import { busiestContract } from './busiest-contract.ts'
import { MINUTE } from './time.ts'

const NOW = 1_000 * MINUTE

function contract(id: string, minutes: number, members: readonly string[], status = 'open') {
  return {
    id,
    status,
    closes: NOW + minutes * MINUTE,
    members: members.map((market_id) => ({ venue: 'venueb', market_id })),
  } as unknown as ContractJson
}

function market(id: string, observations: number) {
  const coverage = { observations, first_time: NOW - MINUTE, last_time: NOW }
  return { venue: 'venueb', market_id: id, coverage } as unknown as ListedMarketJson
}

describe('the busiest contract', () => {
  const markets = [market('a', 50), market('b', 60), market('c', 100), market('d', 5)]
  const of = (contracts: readonly ContractJson[], shown?: string) =>
    busiestContract(contracts, markets, NOW, shown)?.id

  it('has the most rows of all members together', () => {
    expect(of([contract('one', 5, ['c', 'd']), contract('two', 5, ['a', 'b'])])).toBe('two')
  })

  it('has books of two members where there is such a one', () => {
    expect(of([contract('one', 5, ['c', 'x']), contract('two', 5, ['a', 'd'])])).toBe('two')
    expect(of([contract('one', 5, ['c', 'x'])])).toBe('one')
  })

  it('is never one that is decided', () => {
    expect(of([contract('old', -0.1, ['a', 'b'])])).toBeUndefined()
    expect(of([contract('next', 5, ['a', 'b'], 'scheduled')])).toBeUndefined()
    expect(of([contract('old', -0.1, ['a', 'b']), contract('new', 5, ['a', 'd'])], 'old')).toBe(
      'new',
    )
  })

  it('stays while it is open, and has some time left when it is chosen', () => {
    const ending = contract('ending', 0.5, ['a', 'b'])
    const other = contract('other', 5, ['a', 'd'])
    expect(of([ending, other])).toBe('other')
    expect(of([ending, other], 'ending')).toBe('ending')
    expect(of([ending])).toBe('ending')
  })
})
