import type { CategoryJson } from '@priorbook/sdk/wire'

/** A heading of one venue or several. */
export type MergedCategory = {
  readonly name: string
  readonly open: number
  readonly isChosen: boolean
}

/**
 * Adds up the headings of all venues that differ by case alone; those with most open markets or events come
 * first. A chosen heading without any is kept, so that it can be seen and left.
 */
export function mergeCategories(
  rows: readonly CategoryJson[],
  count: 'open_market_count' | 'open_event_count',
  chosen: string | undefined,
): readonly MergedCategory[] {
  const wanted = chosen?.toLowerCase()
  const merged = new Map<string, { name: string; open: number }>()
  for (const row of rows) {
    const key = row.category.toLowerCase()
    const known = merged.get(key) ?? { name: row.category, open: 0 }
    merged.set(key, { ...known, open: known.open + row[count] })
  }
  if (chosen !== undefined && !merged.has(wanted!)) merged.set(wanted!, { name: chosen, open: 0 })
  return [...merged]
    .map(([key, one]) => ({ ...one, isChosen: key === wanted }))
    .filter(({ open, isChosen }) => open > 0 || isChosen)
    .sort((a, b) => b.open - a.open || (a.name < b.name ? -1 : 1))
}
