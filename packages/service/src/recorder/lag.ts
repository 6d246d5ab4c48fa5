/** Measures the time from receiving a message to its rows being durable. */
export interface LagMeter {
  note(micros: number): void
  /** Of the messages since the last minute's turn and the minute before it. */
  summary(): {
    readonly count: number
    readonly p50Ms: number
    readonly p99Ms: number
    readonly maxMs: number
  }
}

// Buckets of 5 % width from 0.1 ms to about 100 s.
const BASE = 1.05
const FIRST_MICROS = 100
const BUCKETS = 284
const TURN_MS = 60_000

/** Creates a meter. */
export function createLagMeter(): LagMeter {
  let current = new Uint32Array(BUCKETS)
  let before = new Uint32Array(BUCKETS)
  let max = 0
  let maxBefore = 0
  let turned = performance.now()
  const scale = 1 / Math.log(BASE)

  function turn(): void {
    if (performance.now() - turned < TURN_MS) return
    turned = performance.now()
    before = current
    maxBefore = max
    current = new Uint32Array(BUCKETS)
    max = 0
  }

  return {
    note(micros) {
      const at = micros <= FIRST_MICROS ? 0 : Math.ceil(Math.log(micros / FIRST_MICROS) * scale)
      current[Math.min(BUCKETS - 1, at)]!++
      if (micros > max) max = micros
    },
    summary() {
      turn()
      let count = 0
      for (let at = 0; at < BUCKETS; at++) count += current[at]! + before[at]!
      const quantile = (share: number): number => {
        let left = count * share
        for (let at = 0; at < BUCKETS; at++) {
          left -= current[at]! + before[at]!
          if (left <= 0) return (FIRST_MICROS * BASE ** at) / 1000
        }
        return 0
      }
      const maxMs = Math.max(max, maxBefore) / 1000
      return { count, p50Ms: quantile(0.5), p99Ms: quantile(0.99), maxMs }
    },
  }
}
