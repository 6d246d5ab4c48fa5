import {
  DAY_MICROS,
  GAP_REASONS,
  isMarketState,
  startOfDay,
  type Gap,
  type GapReason,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { DayTotals } from '../store.ts'
import type { Database } from './database.ts'
import { isOfBooks, marketOf } from './gap-tally.ts'
import { listGaps } from './gaps.ts'
import { facetsOf } from './tally.ts'

/** A day whose sums grow. */
type OpenDay = Omit<DayTotals, 'gaps'> & { gaps: DayTotals['gaps'] }

/**
 * Adds the gaps that are still open to the sums of the days in [from, to). An open gap is missing time up to
 * `to`, or up to the time at which its market closes; the kept sums have closed gaps alone.
 */
export function addOpenGaps(
  database: Database,
  closed: readonly DayTotals[],
  { venue, from, to }: { readonly venue: VenueId; readonly from: number; readonly to: number },
): DayTotals[] {
  const days = new Map<string, OpenDay>(closed.map((one) => [`${one.day} ${one.asset}`, one]))
  for (const gap of openGaps(database, venue, to)) {
    const market = marketOf(database, gap)
    const { asset } = market === undefined ? { asset: '' } : facetsOf(database, venue, market)
    const start = Math.max(gap.start, from)
    const end = Math.min(to, closeOf(database, venue, market))
    for (let day = startOfDay(start); day < end; day += DAY_MICROS) {
      const micros = Math.min(end, day + DAY_MICROS) - Math.max(start, day)
      const name = `${day} ${asset}`
      const known = days.get(name) ?? emptyDay(day, asset)
      days.set(name, { ...known, gaps: withGap(known.gaps, gap.reason, micros) })
    }
  }
  return [...days.values()].sort((a, b) => a.day - b.day)
}

// Nearly all open gaps are those of markets that ended, which are not read.
function openGaps(database: Database, venue: VenueId, to: number): Gap[] {
  const reasons = (Object.keys(GAP_REASONS) as GapReason[]).filter((one) => !isMarketState(one))
  return reasons
    .flatMap((reason) => listGaps(database, { venue, reason, open: true, end: to }))
    .filter(isOfBooks)
}

// A recorder that stopped before a market closed leaves its gap open for good.
function closeOf(database: Database, venue: VenueId, market: string | undefined): number {
  if (market === undefined) return Infinity
  const row = database.get(
    'SELECT close_time FROM market WHERE venue = ? AND market = ?',
    venue,
    market,
  )
  return (row?.['close_time'] as number | null | undefined) ?? Infinity
}

function withGap(gaps: DayTotals['gaps'], reason: GapReason, micros: number): DayTotals['gaps'] {
  const same = gaps.find((one) => one.reason === reason)
  const sum = { reason, gaps: (same?.gaps ?? 0) + 1, micros: (same?.micros ?? 0) + micros }
  return [...gaps.filter((one) => one !== same), sum]
}

function emptyDay(day: number, asset: string): OpenDay {
  const none = { markets: 0, instruments: 0, observations: 0, observedMicros: 0 }
  return { day, asset, ...none, gaps: [] }
}
