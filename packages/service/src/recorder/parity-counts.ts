import { FLAGS } from '@priorbook/sdk/domain'
import type { ParityCheck } from '../store/store.ts'
import type { BatchRows } from './batch.ts'

/** How often each check of prices failed. */
export type ParityCounts = Record<ParityCheck, number>

/** Adds the failed checks of a batch. */
export function countParity(counts: ParityCounts, rows: BatchRows): void {
  for (const { flags } of rows.observations) if ((flags & FLAGS.locked) !== 0) counts.locked++
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
