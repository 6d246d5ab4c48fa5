import { mayBePrice, parseContractId } from '@priorbook/sdk/domain'
import type { ListedFacts } from '../../store/store.ts'
import type { OperatorContracts } from '../route.ts'

/**
 * Returns the markets of one page of a list by close time that may be in a contract with at least `members` members.
 * Members of a round have the same asset and the same bounds, so markets that share theirs with too few others are left
 * out. Three kinds always stay: markets that may be about a price, because only their records tell its bounds; markets
 * that close when a contract of the operator does; and those of the first and the last close time, because other pages
 * may contain the rest of their contract.
 */
export function candidatesOf(
  listed: readonly ListedFacts[],
  members: number,
  named: ReadonlySet<number>,
): readonly ListedFacts[] {
  const sizes = new Map<string, number>()
  for (const one of listed) sizes.set(boundsOf(one), (sizes.get(boundsOf(one)) ?? 0) + 1)
  const ends = [listed[0]?.sortValue, listed.at(-1)?.sortValue]
  return listed.filter(
    (one) =>
      sizes.get(boundsOf(one))! >= members ||
      ends.includes(one.sortValue) ||
      (one.sortValue !== null && named.has(one.sortValue)) ||
      mayBePrice(one),
  )
}

function boundsOf({ asset, sortTime, sortValue }: ListedFacts): string {
  return `${asset}/${sortTime}/${sortValue}`
}

/** When the derived contracts close that the operator's file adds members to. */
export function namedCloses({ named }: OperatorContracts): ReadonlySet<number> {
  return new Set([...named.keys()].flatMap((id) => parseContractId(id)?.closes ?? []))
}
