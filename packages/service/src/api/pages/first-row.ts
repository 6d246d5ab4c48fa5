import type { Dataset, DatasetFloor, VenueId } from '@priorbook/sdk/domain'
import { BACKFILL_EXTENT, type StoreReader } from '../../store/store.ts'

/**
 * The received time of the first stored row of a dataset, of some assets and windows or of all; with `isPast`
 * the venue's time of the first row that comes from its history.
 */
export async function firstRowTime(
  store: StoreReader,
  venue: VenueId,
  dataset: Exclude<Dataset, 'catalogue'>,
  { assets, windows }: Pick<DatasetFloor, 'assets' | 'windows'>,
  isPast = false,
): Promise<number | undefined> {
  const extents = await store.extents(venue)
  const own = extents.filter(
    ({ kind, metric, asset, window }) =>
      kind === KINDS[dataset] &&
      isPast === (metric === BACKFILL_EXTENT) &&
      (assets === undefined || assets.includes(asset)) &&
      (windows === undefined || windows.includes(window)),
  )
  if (own.length === 0) return undefined
  return own.reduce((first, { firstReceived }) => Math.min(first, firstReceived), Infinity)
}

const KINDS = { books: 'book', trades: 'trade', metrics: 'sample' } as const
