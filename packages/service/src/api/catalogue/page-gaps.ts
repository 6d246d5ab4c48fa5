import type { Gap, VenueId } from '@priorbook/sdk/domain'
import type { Store } from '../../store/store.ts'
import type { Page } from './page.ts'

/**
 * The gaps that belong to a page, so that each appears once in a walk: on the page whose rows reach its
 * start, or on the first (ascending) or last (descending) one when it began before the range.
 */
export async function gapsOfPage(
  store: Store,
  about: { readonly venue: VenueId; readonly keys: readonly string[] },
  page: Page,
  reached: { readonly last: number | undefined; readonly hasMore: boolean },
): Promise<Gap[]> {
  const previous = page.state['at'] as number | undefined
  const { last, hasMore } = reached
  const belongs = (gap: Gap): boolean => {
    const { start } = gap
    const reachesIn = (gap.end ?? Infinity) > page.from
    if (page.order === 'asc') {
      const isNew = previous === undefined ? reachesIn : start > previous
      return isNew && (hasMore ? start <= last! : start < page.end)
    }
    const isNew = start < (previous ?? page.end)
    return isNew && (hasMore ? start >= last! : reachesIn)
  }
  const gaps: Gap[] = []
  for (const key of new Set(about.keys)) {
    const found = await store.gaps({ venue: about.venue, key, start: page.from, end: page.end })
    gaps.push(...found.filter(belongs))
  }
  return gaps.sort((a, b) => (page.order === 'asc' ? a.start - b.start : b.start - a.start))
}
