import type { Micros } from '../micros.ts'
import type { Dataset, Floor, VenueFacts } from './facts.ts'
import { VENUE_A } from './venuea.ts'
import { VENUE_B } from './venueb.ts'
import { VENUE_C } from './venuec.ts'

export * from './facts.ts'

/** The recorded venues, in the order of the interface document. */
export const VENUE_IDS = ['venuea', 'venueb', 'venuec'] as const

/** The name of a venue, as it stands in paths, row ids and tables. */
export type VenueId = (typeof VENUE_IDS)[number]

/** The registry of venues; the compiler forces it to be complete. */
export const VENUES: Readonly<Record<VenueId, VenueFacts>> = {
  venuea: VENUE_A,
  venueb: VENUE_B,
  venuec: VENUE_C,
}

/** True for the name of a recorded venue. */
export function isVenueId(value: unknown): value is VenueId {
  return VENUE_IDS.some((id) => id === value)
}

/** The REST address of a market; one without an asset has an address that does not name it. */
export function marketAddress(
  venue: VenueId,
  marketId: string,
  asset: string | null | undefined,
): string {
  const { market, plain, marketParam } = VENUES[venue].paths
  const isPlain = asset === undefined || asset === null || asset === ''
  const address = isPlain && plain !== undefined ? plain.market : market
  return address
    .replace('{asset}', encodeURIComponent((asset ?? '').toLowerCase()))
    .replace(`{${marketParam}}`, encodeURIComponent(marketId))
}

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
