import { POW10, PriorbookError, printScaled } from '../domain/index.ts'

// Decimals of up to 15 significant digits come back from a double unchanged.
const ALWAYS_EXACT = 1_000_000_000_000_000

/**
 * A decimal as the double that is nearest to it, as every tool reads its text: the division of two whole numbers
 * that doubles hold is rounded once. Refuses a decimal that would not come back.
 */
export function toDouble(units: number, decimals: number): number {
  const scale = POW10[decimals]!
  const value = units / scale
  if (units >= ALWAYS_EXACT && String(value) !== printScaled(units, decimals)) {
    const detail = `a double does not hold ${printScaled(units, decimals)}`
    throw new PriorbookError('unrepresentable', detail)
  }
  return value
}
