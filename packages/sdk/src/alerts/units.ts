import { canonicalDecimal } from '../domain/index.ts'

/** Decimals of all values of alerts: prices, sizes and edges fit without rounding. */
export const ALERT_DECIMALS = 12

const ONE = 10n ** BigInt(ALERT_DECIMALS)

/** Reads decimal text as whole units of 10^−12; undefined where it is finer, or not a decimal. */
export function parseUnits(text: string): bigint | undefined {
  let plain: string
  try {
    plain = canonicalDecimal(text)
  } catch {
    return undefined
  }
  const [whole = '', fraction = ''] = plain.replace('-', '').split('.')
  if (fraction.length > ALERT_DECIMALS || whole.length > 15) return undefined
  const units = BigInt(whole) * ONE + BigInt(fraction.padEnd(ALERT_DECIMALS, '0'))
  return plain.startsWith('-') ? -units : units
}

/** Prints units of 10^−12 in canonical form. */
export function printUnits(units: bigint): string {
  const absolute = units < 0n ? -units : units
  const fraction = (absolute % ONE).toString().padStart(ALERT_DECIMALS, '0').replace(/0+$/, '')
  const text = `${absolute / ONE}${fraction === '' ? '' : `.${fraction}`}`
  return units < 0n ? `-${text}` : text
}

/** A whole number of 10^−decimals in units of 10^−12. */
export function toUnits(scaled: number, decimals: number): bigint {
  return BigInt(scaled) * 10n ** BigInt(ALERT_DECIMALS - decimals)
}
