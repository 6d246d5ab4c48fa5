import type { ManualClock } from '../../lib/clock.testing.ts'

// Each step lets local sockets settle, so a round trip takes some 10 ms of this clock.
const STEP_MS = 5
const LIMIT_MS = 20_000

/** Turns the clock until a condition holds; the name says what did not happen within 20 s of real time. */
export async function turnUntil(
  clock: ManualClock,
  name: string,
  isSo: () => boolean,
): Promise<void> {
  const endMs = performance.now() + LIMIT_MS
  while (!isSo()) {
    if (performance.now() > endMs) throw new Error(`never: ${name}`)
    await clock.advance(STEP_MS)
  }
}
