/** An exact number: `units` of 10^−`scale`. */
export type Exact = { readonly units: bigint; readonly scale: number }

/** A quotient as decimal text; `isExact` is false where the digits go on and were rounded. */
export type Quotient = { readonly text: string; readonly isExact: boolean }

// A quotient that ends does so within these digits for every book that a tape can hold; one that does
// not is rounded half up behind fewer.
const EXACT_DIGITS = 40
const ROUNDED_DIGITS = 18

/** Reads plain decimal text (`0.07`, `200`, `1e-7` is none); undefined for anything else. */
export function parseExact(text: string): Exact | undefined {
  const [, sign, whole, fraction = ''] = /^(-?)(\d{1,30})(?:\.(\d{1,30}))?$/.exec(text) ?? []
  if (whole === undefined) return undefined
  const units = BigInt(`${whole}${fraction}`)
  return { units: sign === '-' ? -units : units, scale: fraction.length }
}

/** Prints an exact number in canonical form. */
export function printExact({ units, scale }: Exact): string {
  const negative = units < 0n
  const digits = String(negative ? -units : units).padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '')
  const text = fraction === '' ? whole : `${whole}.${fraction}`
  return negative && text !== '0' ? `-${text}` : text
}

/** Divides two positive exact numbers. */
export function divide(a: Exact, b: Exact): Quotient {
  // a.units / 10^a.scale ÷ (b.units / 10^b.scale)
  const numerator = a.units * 10n ** BigInt(b.scale)
  const denominator = b.units * 10n ** BigInt(a.scale)
  const exact = numerator * 10n ** BigInt(EXACT_DIGITS)
  if (exact % denominator === 0n) {
    const units = exact / denominator
    return { text: printExact({ units, scale: EXACT_DIGITS }), isExact: true }
  }
  const rounded =
    (2n * numerator * 10n ** BigInt(ROUNDED_DIGITS) + denominator) / (2n * denominator)
  return { text: printExact({ units: rounded, scale: ROUNDED_DIGITS }), isExact: false }
}
