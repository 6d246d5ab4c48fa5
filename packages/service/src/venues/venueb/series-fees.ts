import type { Json } from '@priorbook/sdk/domain'
import { isObject } from './market-fields.ts'

/** What a series charges, in the venue's own words: how fees are reckoned, and by what they are multiplied. */
export type SeriesFees = { readonly fee_type?: Json; readonly fee_multiplier?: Json }

const FIELDS = ['fee_type', 'fee_multiplier'] as const

/** The fees in an answer of GET /series/{ticker}, undefined where it names none. */
export function feesOf(answer: unknown): SeriesFees | undefined {
  return readFees(isObject(answer) ? answer['series'] : undefined)
}

/** The fees in a series, or as a request repeats them; text and numbers alone. */
export function readFees(series: unknown): SeriesFees | undefined {
  if (!isObject(series)) return undefined
  const said = FIELDS.flatMap((name) => {
    const value = series[name]
    return typeof value === 'string' || typeof value === 'number' ? [[name, value] as const] : []
  })
  return said.length === 0 ? undefined : Object.fromEntries(said)
}
