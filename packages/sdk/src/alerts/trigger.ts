import type { Threshold } from './rule.ts'

/**
 * Where a rule stands. `unknown`: nothing was observed since it was created, or since a gap; `armed`: the value
 * is not past the threshold; `fired`: it passed the threshold and has not come back yet.
 */
export type TriggerState = 'unknown' | 'armed' | 'fired'

/**
 * Moves a trigger by one observed value. A rule fires where the value passes the threshold between two
 * observations that no gap separates: the first value after a gap sets the state and nothing more.
 */
export function step(
  state: TriggerState,
  value: bigint,
  { isAbove, at, rearm }: Threshold,
): { readonly state: TriggerState; readonly isFired: boolean } {
  const isPast = isAbove ? value > at : value < at
  if (isPast) return { state: 'fired', isFired: state === 'armed' }
  if (state !== 'fired') return { state: 'armed', isFired: false }
  const isBack = isAbove ? value <= at - rearm : value >= at + rearm
  return { state: isBack ? 'armed' : 'fired', isFired: false }
}
