/** The habit of a socket or a stream: the median of its last 64 spacings. */
export interface Spacing {
  note(ms: number): void
  median(): number
}

const KEPT = 64

/** Creates a habit of nothing. */
export function createSpacing(): Spacing {
  const kept = new Float64Array(KEPT)
  let count = 0
  return {
    note(ms) {
      kept[count++ % KEPT] = ms
    },
    // Sorted only when somebody asks: a few times a second, not at every frame.
    median() {
      const sorted = kept.slice(0, Math.min(count, KEPT)).sort()
      return sorted[sorted.length >> 1] ?? 0
    },
  }
}
