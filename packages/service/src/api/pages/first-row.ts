import type { Dataset, DatasetFloor, VenueId } from '@priorbook/sdk/domain'
import type { StoreReader } from '../../store/store.ts'

/** The received time of the first stored row of a dataset, of some assets and windows or of all. */
export async function firstRowTime(
  store: StoreReader,
  venue: VenueId,
  dataset: Exclude<Dataset, 'catalogue'>,
  { assets, windows }: Pick<DatasetFloor, 'assets' | 'windows'>,
): Promise<number | undefined> {
  const extents = await store.extents(venue)
  const own = extents.filter(
    ({ kind, asset, window }) =>
      kind === KINDS[dataset] &&
      (assets === undefined || assets.includes(asset)) &&
      (windows === undefined || windows.includes(window)),
  )
  if (own.length === 0) return undefined
  return own.reduce((first, { firstReceived }) => Math.min(first, firstReceived), Infinity)
}

const KINDS = { books: 'book', trades: 'trade', metrics: 'sample' } as const
