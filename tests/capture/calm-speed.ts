const STEPS = 20

/**
 * The speed within a tenth of the wanted one at which emulated rounds of these nominal lengths last
 * longest from now, so that none ends in the middle of what is looked at.
 */
export function calmSpeed(wanted: number, windowsMs: readonly number[], now = Date.now()): number {
  const speeds = Array.from(
    { length: 2 * STEPS + 1 },
    (_, step) => wanted * (1 + (0.1 * (step - STEPS)) / STEPS),
  )
  // Rounds have whole milliseconds and are counted from 1970: a hair of speed moves them all.
  const leftMs = (speed: number): number =>
    Math.min(
      ...windowsMs.map((windowMs) => {
        const lasts = Math.round(windowMs / speed)
        return lasts - (now % lasts)
      }),
    )
  return speeds.reduce((best, speed) => (leftMs(speed) > leftMs(best) ? speed : best))
}
