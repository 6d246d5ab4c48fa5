import type { ContractJson, ListedMarketJson } from '@priorbook/sdk/client'
import { activityOf } from './market-sort.ts'
import { microsOrAbsent, MINUTE } from './time.ts'

/**
 * The contract whose members are busiest, of those that are not decided yet. `markets` are those with books. The
 * one that is shown stays until it closes; one with little time left is chosen only where there is no other.
 */
export function busiestContract(
  contracts: readonly ContractJson[],
  markets: readonly ListedMarketJson[],
  now: number,
  shown?: string,
): ContractJson | undefined {
  const activity = new Map(markets.map((row) => [nameOf(row), activityOf(row)]))
  const left = ({ closes }: ContractJson): number => (microsOrAbsent(closes) ?? Infinity) - now
  const open = contracts.filter((one) => one.status === 'open' && left(one) > 0)
  const kept = open.find(({ id }) => id === shown)
  if (kept !== undefined) return kept
  const busy = ({ members }: ContractJson): readonly number[] =>
    members.flatMap((member) => activity.get(nameOf(member)) ?? [])
  const sum = (one: ContractJson): number => busy(one).reduce((total, rate) => total + rate, 0)
  // One book alone cannot be compared.
  const isShared = (one: ContractJson): number => (busy(one).length > 1 ? 1 : 0)
  const sorted = open.toSorted((a, b) => isShared(b) - isShared(a) || sum(b) - sum(a))
  return sorted.find((one) => left(one) > MINUTE) ?? sorted[0]
}

function nameOf({ venue, market_id: id }: Pick<ListedMarketJson, 'venue' | 'market_id'>): string {
  return `${venue} ${id}`
}
