import { toMicros, type Micros } from '@priorbook/sdk/domain'
import type { Clock } from './clock.ts'

/** Differences up to this are drift, which is followed; larger ones are steps, which are not. */
const DRIFT_MICROS = 1_000_000
/** A venue's clock agrees with ours within this; its header has whole seconds. */
const AGREEMENT_MICROS = 5_000_000

/**
 * The time by which a recorder decides what is due. It is the wall clock until that one is stepped; then
 * it goes on at the pace of the monotonic clock, until a venue's clock agrees with the new wall clock.
 */
export class SteadyClock {
  readonly #clock: Clock
  /** This clock minus the monotonic one. */
  #offset: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#offset = this.#wallOffset()
  }

  now(): Micros {
    const offset = this.#wallOffset()
    if (Math.abs(offset - this.#offset) <= DRIFT_MICROS) this.#offset = offset
    return toMicros(Math.round(this.#offset + this.#clock.monotonicMs() * 1000))
  }

  /**
   * A venue's clock minus the wall clock was measured: where they agree, the wall clock is right. A venue
   * whose clock disagrees changes nothing, because it may be the one that is wrong.
   */
  compared(offsetMicros: number, roundTripMicros: number): void {
    if (Math.abs(offsetMicros) > AGREEMENT_MICROS + roundTripMicros / 2) return
    this.#offset = this.#wallOffset()
  }

  #wallOffset(): number {
    return this.#clock.now() - this.#clock.monotonicMs() * 1000
  }
}
