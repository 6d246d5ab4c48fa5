import { decimalText, parseScaled, type Json } from '../domain/index.ts'

/** A member of what a venue said in its own words; absent and null are the same. */
export function nativeField(value: Json | undefined, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return (value as { readonly [key: string]: Json })[name] ?? undefined
}

/** A number of a venue in whole units; one that does not fit, or is below zero, is as good as none. */
export function nativeUnits(value: Json | undefined, decimals: number): number | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  try {
    const units = parseScaled(decimalText(value), decimals)
    return units < 0 ? undefined : units
  } catch {
    return undefined
  }
}
