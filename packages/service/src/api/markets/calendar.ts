import type { Gap, GapReason, VenueId } from '@priorbook/sdk/domain'
import type { CalendarDayJson, ValueStyle } from '@priorbook/sdk/wire'
import type { InstrumentFacts, StoreReader } from '../../store/store.ts'
import { coverageDays, DAY, isExpectedGap, millis, printDay } from './covered-days.ts'

/** The coverage of one instrument on one day. */
export type CalendarPiece = {
  readonly day: number
  readonly observations: number
  readonly observedMicros: number
  readonly holes: readonly { readonly reason: GapReason; readonly micros: number }[]
}

/** Sums the coverage of a venue's instruments on one day. */
export class DayTally {
  #instruments = 0
  #observations = 0
  #observedMicros = 0
  readonly #markets = new Set<string>()
  readonly #holes = new Map<GapReason, { gaps: number; micros: number }>()

  add(piece: CalendarPiece, market: string): void {
    if (piece.observations > 0) {
      this.#instruments++
      this.#markets.add(market)
      this.#observations += piece.observations
      this.#observedMicros += piece.observedMicros
    }
    for (const { reason, micros } of piece.holes) {
      const sum = this.#holes.get(reason) ?? { gaps: 0, micros: 0 }
      this.#holes.set(reason, { gaps: sum.gaps + 1, micros: sum.micros + micros })
    }
  }

  toJson(venue: VenueId, day: number, style: ValueStyle): CalendarDayJson {
    const holes = [...this.#holes].toSorted(([, a], [, b]) => b.micros - a.micros)
    const missing = holes.reduce((sum, [, { micros }]) => sum + micros, 0)
    return {
      venue,
      day: printDay(day),
      condition: this.#observations === 0 ? 'missing' : holes.length > 0 ? 'degraded' : 'available',
      markets: this.#markets.size,
      instruments: this.#instruments,
      observations: this.#observations,
      observed_ms: millis(this.#observedMicros, style)!,
      gap_ms: millis(missing, style)!,
      reasons: holes.map(([reason, { gaps, micros }]) => ({
        reason,
        gaps,
        gap_ms: millis(micros, style)!,
      })),
    }
  }
}

// An instrument without a row for this long, in microseconds, has ended: its days are cached.
const ENDED = 3_600_000_000

const cached = new WeakMap<
  StoreReader,
  Map<string, { mark: string; pieces: readonly CalendarPiece[] }>
>()

/** The coverage of an instrument, day by day. */
export async function piecesOf(
  store: StoreReader,
  facts: InstrumentFacts,
  now: number,
): Promise<readonly CalendarPiece[]> {
  const { venue, key } = facts.instrument
  let known = cached.get(store)
  if (known === undefined) cached.set(store, (known = new Map()))
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
  if (facts.lastReceived < now - ENDED) known.set(name, { mark, pieces })
  return pieces
}

function holesOf(gaps: readonly Gap[], day: number, last: number): CalendarPiece['holes'] {
  return gaps.flatMap(({ reason, start, end = last as Gap['start'] }) => {
    if (isExpectedGap(reason)) return []
    const micros = Math.min(end, day + DAY) - Math.max(start, day)
    return micros > 0 ? [{ reason, micros }] : []
  })
}
