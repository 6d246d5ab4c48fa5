import { parseMicros, type Micros } from './micros.ts'
import type { VenueId } from './venue.ts'

/** The kinds of data that are captured apart, and so begin apart. */
export const DATASETS = ['catalogue', 'books', 'trades', 'metrics'] as const

/** The name of one kind. */
export type Dataset = (typeof DATASETS)[number]

/** A time before which a dataset of a venue does not exist here; nothing is invented before it. */
export type DatasetFloor = {
  readonly venue: VenueId
  readonly dataset: Dataset
  /** What it holds for; absent: everything. */
  readonly assets?: readonly string[]
  readonly windows?: readonly string[]
  /** Absent where only this installation's own first observation counts. */
  readonly start?: Micros
  /** The interface document gives day and month alone; the year is ours. */
  readonly yearInferred?: boolean
  /** What lies between the floor and the start of capture was asked for afterwards. */
  readonly backfilled?: boolean
}

const VENUEA = 'venuea' as const

/** Every dataset with the floor that the interface document names for it. */
export const DATASET_FLOORS: readonly DatasetFloor[] = [
  {
    venue: VENUEA,
    dataset: 'catalogue',
    assets: ['BTC'],
    start: day('2026-05-05'),
    backfilled: true,
  },
  {
    venue: VENUEA,
    dataset: 'catalogue',
    assets: ['ETH', 'BNB'],
    start: day('2026-06-29'),
    backfilled: true,
  },
  {
    venue: VENUEA,
    dataset: 'metrics',
    assets: ['BTC', 'ETH', 'BNB'],
    start: day('2026-07-17'),
    yearInferred: true,
  },
  {
    venue: VENUEA,
    dataset: 'books',
    assets: ['BTC'],
    windows: ['15m'],
    start: day('2026-06-26'),
    yearInferred: true,
  },
  {
    venue: VENUEA,
    dataset: 'books',
    assets: ['BTC', 'ETH', 'BNB'],
    start: day('2026-07-26'),
    yearInferred: true,
  },
  { venue: 'venueb', dataset: 'catalogue' },
  { venue: 'venueb', dataset: 'books' },
  { venue: 'venueb', dataset: 'trades' },
  { venue: 'venuec', dataset: 'catalogue' },
  { venue: 'venuec', dataset: 'books' },
  { venue: 'venuec', dataset: 'trades' },
]

/** The earliest floor of a dataset for one market; absent where the document names none. */
export function floorOf(
  venue: VenueId,
  dataset: Dataset,
  market: { readonly asset?: string | undefined; readonly window?: string | undefined },
): Micros | undefined {
  const { asset, window } = market
  const starts = DATASET_FLOORS.filter(
    (floor) =>
      floor.venue === venue &&
      floor.dataset === dataset &&
      (floor.assets === undefined || asset === undefined || floor.assets.includes(asset)) &&
      (floor.windows === undefined || window === undefined || floor.windows.includes(window)),
  ).flatMap(({ start }) => start ?? [])
  return starts.length === 0 ? undefined : (Math.min(...starts) as Micros)
}

function day(text: string): Micros {
  return parseMicros(`${text}T00:00:00Z`)
}
