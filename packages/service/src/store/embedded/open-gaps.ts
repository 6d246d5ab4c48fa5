import {
  DAY_MICROS,
  GAP_REASONS,
  isMarketState,
  startOfDay,
  type Gap,
  type GapReason,
  type VenueId,
} from '@priorbook/sdk/domain'
import { CHUNK_KINDS } from '@priorbook/sdk/tape'
import type { DayTotals } from '../store.ts'
import type { Database, Row } from './database.ts'
import { isOfBooks } from './gap-tally.ts'
import { listOpenGaps } from './gaps.ts'
import { facetsIn } from './tally.ts'
import type { View } from './view.ts'

// More open gaps than this are read again after a while, not after every commit: 40,000 take half a second.
const MANY = 1000
const KEPT_MS = 30_000

/** An open gap, and the time at which its market closes. */
type OpenGap = {
  readonly reason: GapReason
  readonly asset: string
  readonly start: number
  readonly close: number
}

type Known = {
  readonly stamp: string
  readonly readAt: number
  readonly gaps: readonly OpenGap[]
}

/**
 * Gaps of books that are still open, which the kept sums of days leave out. A recorder that stopped leaves one
 * for each of its books, so that they are read once for many requests.
 */
export class OpenGaps {
  private readonly view: View
  private readonly known = new Map<VenueId, Known>()

  constructor(view: View) {
    this.view = view
  }

  /**
   * Adds the open gaps to the sums of the days in [from, to). An open gap is missing time up to `to`, or up to
   * the time at which its market closes.
   */
  addTo(
    closed: readonly DayTotals[],
    { venue, from, to }: { readonly venue: VenueId; readonly from: number; readonly to: number },
  ): DayTotals[] {
    const days = new Map<string, DayTotals>(closed.map((one) => [`${one.day} ${one.asset}`, one]))
    const groups = new Map<string, GapGroup>()
    for (const { asset, reason, start, close } of this.read(venue)) {
      const begin = Math.max(start, from)
      const end = Math.min(to, close)
      if (begin >= end) continue
      const name = `${asset} ${reason}`
      let group = groups.get(name)
      if (group === undefined) groups.set(name, (group = new GapGroup(asset, reason, from, to)))
      group.add(begin, end)
    }
    for (const group of groups.values()) {
      const { asset, reason } = group
      for (const { day, gaps, micros } of group.sums()) {
        const name = `${day} ${asset}`
        const known = days.get(name) ?? emptyDay(day, asset)
        days.set(name, { ...known, gaps: withGaps(known.gaps, { reason, gaps, micros }) })
      }
    }
    return [...days.values()].sort((a, b) => a.day - b.day)
  }

  private read(venue: VenueId): readonly OpenGap[] {
    const { database, stamp } = this.view
    const known = this.known.get(venue)
    const readAt = performance.now()
    if (known !== undefined) {
      const isKept = known.gaps.length > MANY && readAt - known.readAt < KEPT_MS
      if (known.stamp === stamp || isKept) return known.gaps
    }
    const gaps = readOpenGaps(database, venue)
    this.known.set(venue, { stamp, readAt, gaps })
    return gaps
  }
}

/** The gaps of an asset for a reason, day by day. */
class GapGroup {
  readonly asset: string
  readonly reason: GapReason
  private readonly first: number
  // Of days on which a gap begins or ends.
  private readonly gaps: Float64Array
  private readonly micros: Float64Array
  // How many more gaps than the day before last for the whole day.
  private readonly whole: Float64Array

  constructor(asset: string, reason: GapReason, from: number, to: number) {
    this.asset = asset
    this.reason = reason
    this.first = startOfDay(from)
    const days = Math.ceil((to - this.first) / DAY_MICROS)
    this.gaps = new Float64Array(days)
    this.micros = new Float64Array(days)
    this.whole = new Float64Array(days)
  }

  add(start: number, end: number): void {
    const { first, gaps, micros, whole } = this
    const from = Math.floor((start - first) / DAY_MICROS)
    const last = Math.floor((end - 1 - first) / DAY_MICROS)
    gaps[from]! += 1
    if (from === last) {
      micros[from]! += end - start
      return
    }
    micros[from]! += first + (from + 1) * DAY_MICROS - start
    whole[from + 1]! += 1
    whole[last]! -= 1
    gaps[last]! += 1
    micros[last]! += end - (first + last * DAY_MICROS)
  }

  /** The sums of days that have any. */
  *sums(): Generator<{ readonly day: number; readonly gaps: number; readonly micros: number }> {
    let whole = 0
    for (let at = 0; at < this.gaps.length; at++) {
      whole += this.whole[at]!
      const gaps = this.gaps[at]! + whole
      const micros = this.micros[at]! + whole * DAY_MICROS
      if (gaps > 0) yield { day: this.first + at * DAY_MICROS, gaps, micros }
    }
  }
}

function readOpenGaps(database: Database, venue: VenueId): OpenGap[] {
  // Nearly all open gaps are those of markets that ended, which are not read.
  const reasons = (Object.keys(GAP_REASONS) as GapReason[]).filter((one) => !isMarketState(one))
  const gaps = reasons.flatMap((one) => listOpenGaps(database, venue, one)).filter(isOfBooks)
  const marketOf = readMarkets(database, venue, gaps)
  return gaps.map(({ scope, key, reason, start }) => {
    const row = marketOf.get(`${scope} ${key}`)
    const market = row?.['market'] as string | undefined
    return {
      reason,
      asset: market === undefined ? '' : facetsIn(venue, market, row).asset,
      start,
      // A recorder that stopped before a market closed leaves its gap open for good.
      close: (row?.['close_time'] as number | null | undefined) ?? Infinity,
    }
  })
}

// A cross join keeps its order: without one, SQLite reads all streams and looks for each among the keys.
const MARKETS_OF_KEYS = `SELECT stream.key AS key, stream.market AS market, asset, span, series, close_time
  FROM json_each(?) AS named
  CROSS JOIN stream ON stream.venue = ? AND stream.key = named.value AND kind = ?
  LEFT JOIN market ON market.venue = stream.venue AND market.market = stream.market`
const MARKETS = `SELECT named.value AS key, named.value AS market, asset, span, series, close_time
  FROM json_each(?) AS named
  LEFT JOIN market ON market.venue = ? AND market.market = named.value`

// The markets of gaps, by scope and key.
function readMarkets(
  database: Database,
  venue: VenueId,
  gaps: readonly Gap[],
): ReadonlyMap<string, Row> {
  const found = new Map<string, Row>()
  const take = (scope: Gap['scope'], sql: string, ...values: readonly number[]): void => {
    const keys = gaps.filter((gap) => gap.scope === scope).map(({ key }) => key)
    for (const row of database.all(sql, JSON.stringify(keys), venue, ...values)) {
      found.set(`${scope} ${row['key'] as string}`, row)
    }
  }
  take('instrument', MARKETS_OF_KEYS, CHUNK_KINDS.indexOf('book'))
  take('market', MARKETS)
  return found
}

function withGaps(
  sums: DayTotals['gaps'],
  { reason, gaps, micros }: DayTotals['gaps'][number],
): DayTotals['gaps'] {
  const same = sums.find((one) => one.reason === reason)
  const sum = { reason, gaps: (same?.gaps ?? 0) + gaps, micros: (same?.micros ?? 0) + micros }
  return [...sums.filter((one) => one !== same), sum]
}

function emptyDay(day: number, asset: string): DayTotals {
  const none = { markets: 0, instruments: 0, observations: 0, observedMicros: 0 }
  return { day, asset, ...none, gaps: [] }
}
