import type { ContractJson } from '@priorbook/sdk/client'
import type { ContractStatus } from '@priorbook/sdk/wire'

/** Without a chosen status, contracts are listed in this order. */
export const ORDER: readonly ContractStatus[] = ['open', 'scheduled', 'closed', 'resolved']

/** Adds rows. A contract may change its status between two pages: it is listed once. */
export function withNew(
  rows: readonly ContractJson[],
  news: readonly ContractJson[],
): readonly ContractJson[] {
  const known = new Set(rows.map(({ id }) => id))
  return [...rows, ...news.filter(({ id }) => !known.has(id))]
}

/** Puts the contracts that are open now first; those that were open before are closed by now. */
export function withOpen(
  rows: readonly ContractJson[],
  open: readonly ContractJson[],
): readonly ContractJson[] {
  const isOpen = new Set(open.map(({ id }) => id))
  const others = rows.filter(({ id }) => !isOpen.has(id))
  const ended = others.map((row) =>
    row.status === 'open' ? { ...row, status: 'closed' as const } : row,
  )
  const rank = ({ status }: ContractJson): number => ORDER.indexOf(status)
  return [...open, ...ended.toSorted((a, b) => rank(a) - rank(b))]
}
