/** A length of time as operators write it, such as `30d`, `12h` or `1.5m`. */
export const SPAN = /^\d+(\.\d+)?(s|m|h|d)$/

const UNIT_MICROS: Readonly<Record<string, number>> = { s: 1e6, m: 60e6, h: 3600e6, d: 86_400e6 }

/** The microseconds of a span that matches `SPAN`. */
export function spanMicros(text: string): number {
  return Number(text.slice(0, -1)) * UNIT_MICROS[text.at(-1)!]!
}
