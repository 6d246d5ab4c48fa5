import type { Gap, GapReason, VenueId } from '@priorbook/sdk/domain'
import {
  Problem,
  timeJson,
  contractOf,
  DOCUMENTED_DAYS,
  type CalendarDayJson,
} from '@priorbook/sdk/wire'
import type { InstrumentFacts, Store } from '../../store/store.ts'
import { defineRoute, type Route } from '../route.ts'
import { coverageDays, DAY, millis, printDay } from '../markets/covered-days.ts'
import { styleOf, windowNotice, noticeMeta } from '../catalogue/page.ts'
import { yieldToEventLoop } from '../../lib/yielder.ts'

const { calendar: DEFAULT_DAYS, calendarMax: MAX_DAYS } = DOCUMENTED_DAYS
// An instrument that has been quiet for so long is over: its days are not counted again.
const OVER = 3_600_000_000

/** A venue's books day by day. */
export const COVERAGE_DAYS_ROUTE: Route = defineRoute(
  contractOf('coverage_days'),
  async ({ query, grant }, context) => {
    const { venue } = query
    grant.requireVenue(venue)
    const style = styleOf(query)
    const now = context.now()
    const end = Math.min(query.end_time ?? now, now)
    const asked = query.start_time ?? Math.max(0, end - (DEFAULT_DAYS - 1) * DAY)
    if (asked >= end) {
      throw new Problem('invalid_range', 'start_time lies at or after end_time or now', {
        param: 'start_time',
      })
    }
    if (end - asked > MAX_DAYS * DAY) {
      throw new Problem('invalid_range', `a calendar has at most ${MAX_DAYS} days`, {
        param: 'start_time',
        hint: 'Ask for one quarter after another.',
      })
    }
    const window = grant.windowStart(now)
    const from = Math.floor(Math.max(asked, window) / DAY) * DAY
    const days = new Map<number, DayTally>()
    for (let day = from; day < end; day += DAY) days.set(day, createTally())
    let looked = 0
    for (const facts of await context.store.instruments(venue)) {
      if (facts.lastReceived < from || facts.firstReceived >= end) continue
      const { market } = facts.instrument
      for (const piece of await piecesOf(context.store, facts, now)) {
        const tally = days.get(piece.day)
        if (tally !== undefined) add(tally, piece, market)
      }
      if (++looked % 16 === 0) await yieldToEventLoop()
    }
    const started = await context.store.fact(`capture_started:${venue}`)
    const data = [...days].map(([day, tally]) => toRow(venue, day, tally, style))
    const range = { asked, window, from: Math.max(asked, window), end }
    return {
      kind: 'data',
      data,
      count: data.length,
      meta: {
        range: { start_time: timeJson(from, style), end_time: timeJson(end, style) },
        capture_started_time: timeJson(started, style),
        ...noticeMeta(windowNotice(range)),
      },
    }
  },
)

type Piece = {
  readonly day: number
  readonly observations: number
  readonly observedMicros: number
  readonly holes: readonly { readonly reason: GapReason; readonly micros: number }[]
}

type DayTally = {
  instruments: number
  readonly markets: Set<string>
  observations: number
  observedMicros: number
  readonly holes: Map<GapReason, { gaps: number; micros: number }>
}

function createTally(): DayTally {
  return {
    instruments: 0,
    markets: new Set(),
    observations: 0,
    observedMicros: 0,
    holes: new Map(),
  }
}

const remembered = new WeakMap<Store, Map<string, { mark: string; pieces: readonly Piece[] }>>()

async function piecesOf(
  store: Store,
  facts: InstrumentFacts,
  now: number,
): Promise<readonly Piece[]> {
  const { venue, key } = facts.instrument
  let known = remembered.get(store)
  if (known === undefined) remembered.set(store, (known = new Map()))
  const name = `${venue} ${key}`
  const mark = `${facts.firstSequence} ${facts.lastSequence}`
  const before = known.get(name)
  if (before?.mark === mark) return before.pieces
  const coverage = await store.coverage({ venue, key })
  const life = { open: facts.firstReceived, close: facts.lastReceived + 1 }
  const pieces = coverageDays(coverage, life, 0).map((day) => ({
    day: day.day,
    observations: day.observations,
    observedMicros: day.observedMicros,
    holes: holesOf(coverage?.gaps ?? [], day.day, facts.lastReceived),
  }))
  if (facts.lastReceived < now - OVER) known.set(name, { mark, pieces })
  return pieces
}

function holesOf(gaps: readonly Gap[], day: number, last: number): Piece['holes'] {
  return gaps.flatMap(({ reason, start, end = last as Gap['start'] }) => {
    if (reason === 'market_not_open' || reason === 'market_closed') return []
    const micros = Math.min(end, day + DAY) - Math.max(start, day)
    return micros > 0 ? [{ reason, micros }] : []
  })
}

function add(tally: DayTally, piece: Piece, market: string): void {
  if (piece.observations > 0) {
    tally.instruments++
    tally.markets.add(market)
    tally.observations += piece.observations
    tally.observedMicros += piece.observedMicros
  }
  for (const { reason, micros } of piece.holes) {
    const sum = tally.holes.get(reason) ?? { gaps: 0, micros: 0 }
    tally.holes.set(reason, { gaps: sum.gaps + 1, micros: sum.micros + micros })
  }
}

function toRow(
  venue: VenueId,
  day: number,
  tally: DayTally,
  style: Parameters<typeof millis>[1],
): CalendarDayJson {
  const holes = [...tally.holes].toSorted(([, a], [, b]) => b.micros - a.micros)
  const missing = holes.reduce((sum, [, { micros }]) => sum + micros, 0)
  return {
    venue,
    day: printDay(day),
    condition: tally.observations === 0 ? 'missing' : holes.length > 0 ? 'degraded' : 'available',
    markets: tally.markets.size,
    instruments: tally.instruments,
    observations: tally.observations,
    observed_ms: millis(tally.observedMicros, style)!,
    gap_ms: millis(missing, style)!,
    reasons: holes.map(([reason, { gaps, micros }]) => ({
      reason,
      gaps,
      gap_ms: millis(micros, style)!,
    })),
  }
}
