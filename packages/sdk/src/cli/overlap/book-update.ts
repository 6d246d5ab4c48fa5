import { decimalText, parseScaled, type VenueId } from '../../domain/index.ts'

/** Decimals in which a capture is compared: finer than every venue. */
const PRICE_DECIMALS = 6
const SIZE_DECIMALS = 8

/** One dollar, or one share paid in full. */
export const ONE = 10 ** PRICE_DECIMALS

/** A level as whole numbers. */
export type OwnLevel = { readonly price: number; readonly size: number }

/** What one message says of one book. */
export type BookUpdate = {
  readonly venue: VenueId
  readonly marketId: string
  /** The instrument, as in row ids. */
  readonly key: string
  /** The venue's own time in microseconds, where the message has one. */
  readonly time?: number | undefined
} & (
  | {
      readonly kind: 'full'
      readonly bids: readonly OwnLevel[]
      readonly asks: readonly OwnLevel[]
    }
  | {
      readonly kind: 'change'
      readonly changes: readonly (OwnLevel & { readonly side: 'bid' | 'ask' })[]
      /** True where sizes are differences, not new sizes. */
      readonly isSigned: boolean
    }
)

/** A level of decimal texts or numbers. */
export function toLevel(price: unknown, size: unknown): OwnLevel {
  return {
    price: parseScaled(decimalText(price), PRICE_DECIMALS),
    size: parseScaled(decimalText(size), SIZE_DECIMALS),
  }
}

/** Levels as venues send them: pairs, or objects with `price` and `size`; absent is empty. */
export function toLevels(value: unknown): OwnLevel[] {
  if (value === null || value === undefined) return []
  if (!Array.isArray(value)) throw new TypeError('levels are not a list')
  return value.map((level: unknown) => {
    if (Array.isArray(level)) return toLevel(level[0], level[1])
    const { price, size } = level as { readonly price: unknown; readonly size: unknown }
    return toLevel(price, size)
  })
}

/** Milliseconds since 1970, as text or number, in microseconds; undefined for anything else. */
export function fromMillis(value: unknown): number | undefined {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  return /^\d{13}$/.test(text) ? Number(text) * 1000 : undefined
}
