/** A JSON object in the venue's own names. */
export type NativeObject = Readonly<Record<string, unknown>>

const PRICES = Array.from({ length: 10_001 }, (_, price) => (price / 10_000).toFixed(4))

/** A price in dollars with four decimals: 5200 is 0.5200. */
export function dollars(price: number): string {
  return PRICES[price]!
}

/** A count of contracts with two decimals, signed where it is a change. */
export function contracts(size: number): string {
  const hundredths = Math.round(Math.abs(size) / 10_000)
  const whole = Math.floor(hundredths / 100)
  const rest = hundredths - whole * 100
  return `${size < 0 ? '-' : ''}${whole}.${rest < 10 ? '0' : ''}${rest}`
}

/** A time with microseconds, the last three digits invented. */
export function isoMicros(ms: number, micros: number): string {
  const text = new Date(ms).toISOString()
  return `${text.slice(0, -1)}${String(micros % 1_000).padStart(3, '0')}Z`
}

/** A time to the second, or to the millisecond where a fast world needs it. */
export function isoSeconds(ms: number): string {
  const text = new Date(ms).toISOString()
  return ms % 1000 === 0 ? `${text.slice(0, 19)}Z` : text
}
