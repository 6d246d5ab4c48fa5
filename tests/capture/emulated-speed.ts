const STEPS = 20

/**
 * The speed within a tenth of the wanted one at which emulated rounds of these nominal lengths last
 * longest from now, so that none ends in the middle of what is looked at.
 */
export function calmSpeed(wanted: number, windowsMs: readonly number[]): number {
  const now = Date.now()
  return bestSpeed(wanted, (speed) =>
    Math.min(...windowsMs.map((windowMs) => leftMs(speed, windowMs, now))),
  )
}

/** The speed within a tenth of the wanted one at which a round of this nominal length ends in so long. */
export function speedToEndIn(wanted: number, windowMs: number, ms: number): number {
  const now = Date.now()
  return bestSpeed(wanted, (speed) => -Math.abs(leftMs(speed, windowMs, now) - ms))
}

function bestSpeed(wanted: number, worthOf: (speed: number) => number): number {
  const speeds = Array.from(
    { length: 2 * STEPS + 1 },
    (_, step) => wanted * (1 + (0.1 * (step - STEPS)) / STEPS),
  )
  return speeds.reduce((best, speed) => (worthOf(speed) > worthOf(best) ? speed : best))
}

// Rounds have whole milliseconds and are counted from 1970: a hair of speed moves them all.
function leftMs(speed: number, windowMs: number, now: number): number {
  const lasts = Math.round(windowMs / speed)
  return lasts - (now % lasts)
}
