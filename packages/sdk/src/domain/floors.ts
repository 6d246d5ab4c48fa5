import type { Micros } from './micros.ts'
import { VENUE_IDS, VENUES, type Dataset, type Floor, type VenueId } from './venues/index.ts'

/** A floor together with the venue it belongs to. */
export type DatasetFloor = Floor & { readonly venue: VenueId }

/** Every dataset of every venue with its floor. */
export const DATASET_FLOORS: readonly DatasetFloor[] = VENUE_IDS.flatMap((venue) =>
  VENUES[venue].floors.map((floor) => ({ venue, ...floor })),
)

/** The earliest floor of a dataset for one market; undefined where the document names none. */
export function floorOf(
  venue: VenueId,
  dataset: Dataset,
  market: { readonly asset?: string | undefined; readonly window?: string | undefined },
): Micros | undefined {
  const { asset, window } = market
  const starts = VENUES[venue].floors
    .filter(
      (floor) =>
        floor.dataset === dataset &&
        (floor.assets === undefined || asset === undefined || floor.assets.includes(asset)) &&
        (floor.windows === undefined || window === undefined || floor.windows.includes(window)),
    )
    .flatMap(({ start }) => start ?? [])
  return starts.length === 0 ? undefined : (Math.min(...starts) as Micros)
}
