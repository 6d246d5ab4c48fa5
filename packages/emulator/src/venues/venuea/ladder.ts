import { printScaled } from '@priorbook/sdk/domain'
import type { Level } from '../../core/upstream.ts'

/** A price or a chance as the venue writes it, without trailing zeros. */
export function priceText(price: number): string {
  return printScaled(Math.round(price * 100), 6)
}

/** A size as the venue writes it; it allows 8 decimals, the world has 6. */
function sizeText(size: number): string {
  return printScaled(size, 6)
}

/** The ladder of the socket: pairs of texts, best first. */
export function toPairs(levels: readonly Level[]): [string, string][] {
  return levels.map(({ price, size }) => [priceText(price), sizeText(size)])
}

/** The ladder of REST: objects of texts, best first. */
export function toObjects(levels: readonly Level[]): { price: string; size: string }[] {
  return levels.map(({ price, size }) => ({ price: priceText(price), size: sizeText(size) }))
}

/** An amount in millionths, written with two decimals and cut, not rounded. */
export function moneyText(millionths: number): string {
  const cents = Math.floor(millionths / 10_000)
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`
}
