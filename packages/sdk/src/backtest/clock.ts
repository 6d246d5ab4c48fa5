import { DOUBLE_ZERO } from '../domain/index.ts'

/**
 * The simulated time, in microseconds. All runs of a world share one clock. A row of the tape sets it once for all
 * runs; everything else that happens to one run sets it before the run handles it.
 */
export class Clock {
  now = DOUBLE_ZERO
}
