import { canonicalDecimal, parseScaled, printScaled, PriorbookError } from '../domain/index.ts'
import type { SampleColumns } from './columns.ts'

/** Decimals of samples: venues have at most 4, exchange prices 8. */
export const SAMPLE_DECIMALS = 8

/** Decimals behind those: prices of an oracle have 18, which no whole number of 53 bits holds. */
const FINE_DECIMALS = 10

/**
 * A value of a sample as two whole numbers: `value` in 10^−8, and `fine`, the rest of it in 10^−18, which
 * has the sign of the value and is 0 for all but prices of oracles.
 */
export type SampleValue = { readonly value: number; readonly fine: number }

/** Parses decimal text of up to 18 decimals exactly; refuses what is finer or too large. */
export function parseSampleValue(text: string): SampleValue {
  const point = text.indexOf('.')
  const cut = point + 1 + SAMPLE_DECIMALS
  if (point < 0 || text.length <= cut) return { value: parseScaled(text, SAMPLE_DECIMALS), fine: 0 }
  const digits = canonicalDecimal(text)
  const end = digits.indexOf('.') + 1 + SAMPLE_DECIMALS
  const rest = digits.slice(end)
  if (rest.length > FINE_DECIMALS) {
    const most = SAMPLE_DECIMALS + FINE_DECIMALS
    const detail = `${text.slice(0, 60)} has more than ${most} decimals`
    throw new PriorbookError('unrepresentable', detail)
  }
  const fine = Number(rest.padEnd(FINE_DECIMALS, '0'))
  const isNegative = digits.startsWith('-') && fine !== 0
  return {
    value: parseScaled(digits.slice(0, end), SAMPLE_DECIMALS),
    fine: isNegative ? -fine : fine,
  }
}

/** The value of a row as canonical decimal text. */
export function printSampleValue({ value, fine }: SampleColumns, row: number): string {
  return printValue(value[row]!, fine[row]!)
}

function printValue(value: number, fine: number): string {
  if (fine === 0) return printScaled(value, SAMPLE_DECIMALS)
  const sign = value < 0 || fine < 0 ? '-' : ''
  const [whole, part = ''] = printScaled(Math.abs(value), SAMPLE_DECIMALS).split('.')
  const rest = String(Math.abs(fine)).padStart(FINE_DECIMALS, '0')
  return canonicalDecimal(`${sign}${whole}.${part.padEnd(SAMPLE_DECIMALS, '0')}${rest}`)
}
