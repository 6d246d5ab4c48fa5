import { parseMicros, type Micros } from '@priorbook/sdk/domain'

/** A time before which Priorbook has nothing of venue A: nothing is asked for or invented before it. */
export type CaptureFloor = {
  readonly dataset: 'catalogue' | 'metrics' | 'books'
  /** The coins it holds for. */
  readonly assets: readonly string[]
  /** The windows it holds for; absent: all. */
  readonly windows?: readonly string[]
  readonly start: Micros
  /** The interface document gives day and month alone; the year is ours. */
  readonly yearInferred: boolean
}

/** The coins whose up/down rounds venue A has. */
export const VENUEA_COINS = ['BTC', 'ETH', 'BNB'] as const

/** The floors of venue A, as the interface document names them. */
export const VENUEA_FLOORS: readonly CaptureFloor[] = [
  floor('catalogue', '2026-05-05', { assets: ['BTC'] }),
  floor('catalogue', '2026-06-29', { assets: ['ETH', 'BNB'] }),
  floor('metrics', '2026-07-17', { yearInferred: true }),
  floor('books', '2026-06-26', { assets: ['BTC'], windows: ['15m'], yearInferred: true }),
  floor('books', '2026-07-26', { yearInferred: true }),
]

/** Since when catalogue, resolution, volume and liquidity of a coin are kept; absent for other coins. */
export function catalogueFloor(asset: string): Micros | undefined {
  return VENUEA_FLOORS.find(
    ({ dataset, assets }) => dataset === 'catalogue' && assets.includes(asset),
  )?.start
}

function floor(
  dataset: CaptureFloor['dataset'],
  day: string,
  more: Partial<Pick<CaptureFloor, 'assets' | 'windows' | 'yearInferred'>>,
): CaptureFloor {
  const { assets = VENUEA_COINS, windows, yearInferred = false } = more
  const part = windows === undefined ? {} : { windows }
  return { dataset, assets, ...part, start: parseMicros(`${day}T00:00:00Z`), yearInferred }
}
