import type { ParityCheck } from '@priorbook/sdk/domain'

/** How often each check failed. */
export type ParityCounts = Record<ParityCheck, number>

/** The check that a refused message failed, by the code of its refusal; absent for other refusals. */
export const REFUSED_CHECKS: ReadonlyMap<string, ParityCheck> = new Map([
  ['price_out_of_bounds', 'out_of_bounds'],
  ['crossed_book', 'crossed'],
])

/** Counts before the first failure. */
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
