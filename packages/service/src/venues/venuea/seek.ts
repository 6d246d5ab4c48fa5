import type { Page } from './pages.ts'

/**
 * Finds where in the list, which goes from the latest end to the earliest, the topics begin that end
 * before `beforeMs`: some twenty calls instead of two thousand pages. Where the venue does not keep to
 * its order the answer is 0, and the walk sees everything. Undefined where a page cannot be had.
 */
export async function findOffset<P extends Page>(
  beforeMs: number,
  readPage: (offset: number) => Promise<P | undefined>,
): Promise<number | undefined> {
  const first = await readPage(0)
  if (first === undefined) return undefined
  const total = first.total ?? 0
  if (first.count === 0 || !first.hasMore || (first.endsMs.at(-1) ?? 0) < beforeMs) return 0
  // Everything before `low` ends at `beforeMs` or later; the topic at `high` does not, or is none.
  let low = first.count
  let high = Math.max(low, total)
  let latest = first.endsMs.at(-1) ?? Infinity
  let earliest = -Infinity
  while (high - low > first.count) {
    const middle = Math.floor((low + high) / 2)
    const page = await readPage(middle)
    if (page === undefined) return undefined
    const end = page.endsMs[0]
    if (end === undefined) {
      high = middle
      continue
    }
    if (end > latest || end < earliest) return 0
    if (end >= beforeMs) {
      low = middle
      latest = end
    } else {
      high = middle
      earliest = end
    }
  }
  // One page back: topics that are listed meanwhile move all others down, others may be taken off.
  return Math.max(0, low - first.count)
}
