/** How fast commands go out on one socket: the venue limits them and does not say to how many. */
export interface Pace {
  isFree(nowMs: number): boolean
  sent(nowMs: number): void
  /** The venue complained: twice the spacing, until it was content for a while. */
  slower(nowMs: number): void
}

const GAP_MS = 20
const SLOW_MS = 100
const MAX_GAP_MS = 5_000
const CALM_MS = 10_000

/** Creates a pace that starts fast. */
export function createPace(): Pace {
  let gap = GAP_MS
  let freeAt = -Infinity
  let slowedAt = -Infinity
  return {
    isFree: (nowMs) => nowMs >= freeAt,
    sent(nowMs) {
      if (nowMs - slowedAt > Math.max(CALM_MS, 2 * gap)) gap = GAP_MS
      freeAt = nowMs + gap
    },
    slower(nowMs) {
      gap = Math.min(MAX_GAP_MS, Math.max(SLOW_MS, gap * 2))
      slowedAt = nowMs
      freeAt = nowMs + gap
    },
  }
}
