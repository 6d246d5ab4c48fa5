import { VENUE_ADDRESSES } from '../markets/addresses.ts'
import type { Route } from '../route.ts'
import { asOfRoute } from './as-of.ts'
import { changesRoute } from './changes.ts'
import { latestRoute } from './latest.ts'
import { snapshotsRoute } from './snapshots.ts'

/** Books: pages, samples by interval, the newest, that of an instant, and changed levels. */
export const BOOK_ROUTES: readonly Route[] = VENUE_ADDRESSES.flatMap((address) => [
  snapshotsRoute(address),
  latestRoute(address),
  asOfRoute(address),
  changesRoute(address),
])
