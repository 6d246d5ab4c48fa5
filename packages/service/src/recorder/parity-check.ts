import { FLAGS, type Instrument } from '@priorbook/sdk/domain'
import type { Ladder } from '@priorbook/sdk/tape'
import type { ParityCheck, ParityNote } from '../store/store.ts'
import type { BatchRows } from './batch.ts'

/** A book after a message. */
type SeenBook = {
  readonly instrument: Instrument
  readonly ladder: Pick<Ladder, 'bestBid' | 'bestAsk' | 'one'>
}

/** How often each check failed. */
export type ParityCounts = Record<ParityCheck, number>

/**
 * Finds markets whose two books contradict each other. A bid for one outcome is an ask for the other, so
 * best bid and best ask of the other book add up to 1 (else `sum_off`). Both outcomes together can neither
 * be bought below 1 nor sold above it (`complement_crossed`).
 */
export function findContradictions(
  books: readonly SeenBook[],
): { readonly market: string; readonly check: ParityNote['check'] }[] {
  const found: { market: string; check: ParityNote['check'] }[] = []
  const seen = new Map<string, SeenBook>()
  for (const book of books) {
    const { market, key } = book.instrument
    const other = seen.get(market)
    if (other === undefined) seen.set(market, book)
    else if (other.instrument.key !== key) {
      const checks = compare(other.ladder, book.ladder)
      found.push(...checks.map((check) => ({ market, check })))
    }
  }
  return found
}

// A side without levels has the best price 0 or 1, which fits a mirrored side without levels.
function compare(a: SeenBook['ladder'], b: SeenBook['ladder']): ParityNote['check'][] {
  const whole = a.one * b.one
  const sum = (own: number, other: number): number => own * b.one + other * a.one
  const checks: ParityNote['check'][] = []
  if (sum(a.bestBid, b.bestAsk) !== whole || sum(a.bestAsk, b.bestBid) !== whole) {
    checks.push('sum_off')
  }
  if (sum(a.bestAsk, b.bestAsk) < whole || sum(a.bestBid, b.bestBid) > whole) {
    checks.push('complement_crossed')
  }
  return checks
}

/** Adds the failed checks of a batch. */
export function countParity(counts: ParityCounts, rows: BatchRows): void {
  for (const { flags } of rows.observations) {
    if ((flags & FLAGS.locked) !== 0) counts.locked++
  }
  for (const { check } of rows.parity) counts[check]++
  for (const { code } of rows.quarantine) {
    if (code === 'price_out_of_bounds') counts.out_of_bounds++
    else if (code === 'crossed_book') counts.crossed++
  }
}

/** Counts before the first row. */
export function noParity(): ParityCounts {
  return {
    sum_off: 0,
    complement_crossed: 0,
    locked: 0,
    off_tick: 0,
    out_of_bounds: 0,
    crossed: 0,
  }
}
