/** Compares two decimals digit by digit, so that no rounding decides. */
export function compareDecimals(a: string, b: string): number {
  const places = Math.max(placesOf(a), placesOf(b))
  const [first, second] = [unitsOf(a, places), unitsOf(b, places)]
  return first < second ? -1 : first > second ? 1 : 0
}

/** A decimal rounded to a number of places: `down` to the next lower one, `up` to the next higher. */
export function roundDecimal(text: string, places: number, way: 'down' | 'up'): string {
  const all = placesOf(text)
  if (all <= places) return text
  const scale = 10n ** BigInt(all - places)
  const units = unitsOf(text, all)
  const cut = units / scale
  const rest = units - cut * scale
  const isLess = way === 'down' && rest < 0n
  const isMore = way === 'up' && rest > 0n
  return print(isLess ? cut - 1n : isMore ? cut + 1n : cut, places)
}

/** The middle of two decimals, with one more place where it needs it. */
export function middleOf(a: string, b: string): string {
  const places = Math.max(placesOf(a), placesOf(b)) + 1
  const middle = print((unitsOf(a, places) + unitsOf(b, places)) / 2n, places)
  return middle.endsWith('0') ? middle.slice(0, -1) : middle
}

function placesOf(text: string): number {
  const point = text.indexOf('.')
  return point === -1 ? 0 : text.length - point - 1
}

function unitsOf(text: string, places: number): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(`${whole}${fraction.padEnd(places, '0')}`)
}

function print(units: bigint, places: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const fraction = digits.slice(digits.length - places)
  return `${units < 0n ? '-' : ''}${whole}${places === 0 ? '' : `.${fraction}`}`
}
