import type { Gap, VenueId } from '@priorbook/sdk/domain'
import type { StoreReader } from '../../store/store.ts'

/**
 * The gap in place of the rows of a key that retention removed, if one of them was received at or before `by`.
 * Up to the first row that is left, the last value is then unknown because of retention. That capture had
 * not begun is true only before this gap.
 */
export async function findRemoved(
  store: StoreReader,
  { venue, key }: { readonly venue: VenueId; readonly key: string },
  by?: number,
): Promise<Gap | undefined> {
  const [removed] = await store.gaps({
    venue,
    key,
    reason: 'retention',
    ...(by === undefined ? {} : { end: by + 1 }),
    limit: 1,
  })
  return removed
}
