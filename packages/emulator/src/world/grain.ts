/** A price as a whole number of hundredths of a ten-thousandth: sums of decimals are not exact. */
export function toGrain(price: number): number {
  return Math.round(price * 100) / 100
}
