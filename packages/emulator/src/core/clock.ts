/** Our wall clock in whole microseconds, for the log of the truth. */
export function wallMicros(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000)
}

/** A clock that begins at `start` (milliseconds) and runs with the wall clock, never backwards. */
export function createClock(start: number): () => number {
  const begun = performance.now()
  return () => start + (performance.now() - begun)
}
