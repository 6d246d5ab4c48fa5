import {
  canonicalDecimal,
  decimalText,
  parseScaled,
  printScaled,
  PriorbookError,
} from '@priorbook/sdk/domain'
import { decimalOf, type NativeObject } from '../capture/fields.ts'

/** What every market of venue B offers; it names no tokens. */
export const OUTCOMES = [
  { label: 'Yes', index: 0 },
  { label: 'No', index: 1 },
] as const

/** True for a JSON object. */
export function isObject(value: unknown): value is NativeObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A field by its name, or by the name with a leading underscore of the demo exchange of 2024. */
export function field(object: NativeObject, name: string): unknown {
  return object[name] ?? object[`_${name}`]
}

/** An amount as canonical decimal text, or undefined where the venue says nothing. */
export function decimal(object: NativeObject, name: string): string | undefined {
  const value = field(object, name)
  if (value === undefined || value === null || value === '') return undefined
  const text = decimalText(decimalOf(value, name))
  if (text.length > DECIMAL_CHARS) {
    throw new PriorbookError('unrepresentable', `${name} has ${text.length} characters`)
  }
  return canonicalDecimal(text)
}

/** Payouts of yes and no: one contract pays 1 dollar in all, and yes gets the settlement value. */
export function payouts(value: string): readonly string[] | undefined {
  const one = 10 ** PAYOUT_DECIMALS
  const yes = parseScaled(value, PAYOUT_DECIMALS)
  if (yes < 0 || yes > one) return undefined
  return [printScaled(yes, PAYOUT_DECIMALS), printScaled(one - yes, PAYOUT_DECIMALS)]
}

// Longer decimal text than any venue sends; canonicalDecimal's patterns are not made for megabytes.
const DECIMAL_CHARS = 64
const PAYOUT_DECIMALS = 8
