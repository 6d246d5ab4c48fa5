import type { MarketRecord } from '../../market.ts'
import { VENUES, type VenueId } from '../../venues/index.ts'
import { fromRecord, fromRule, type Evidence, type MarketTerms, type Term } from '../terms.ts'

/** What a venue knows about the contracts of its markets. */
export type ContractRules = {
  /** The terms of a market by its record; undefined where it is not a contract that the rules know. */
  derive(record: MarketRecord): MarketTerms | undefined
  /**
   * The word by which titles name an asset, for venues whose records do not name the asset of an `above` or
   * a `range`; such markets are looked for by it.
   */
  titleWord?(asset: string): string | undefined
  /** Whether `derive` may give an `above` or a `range`, by what lists know; absent: it never does. */
  mayBePrice?(listed: ListedTerms): boolean
}

/** What lists know of a market without its record. */
export type ListedTerms = {
  readonly venue: VenueId
  readonly asset?: string | undefined
  readonly series?: string | undefined
  /** Its titles and names, in lower case. */
  readonly text: string
}

/** The words for prices that decide; two members agree where the words are equal. */
export const PRICES = {
  last: 'the price at the close',
  candle: 'the close of the last 1-minute candle',
  average: (seconds: number) => `the average of the last ${seconds} seconds`,
} as const

/** The terms that follow from the facts of a venue alone. */
export function sharedTerms(record: MarketRecord): {
  readonly payout: Term
  readonly trading_end: Term
} {
  const { collateral } = record.units
  return {
    payout: fromRecord('units.collateral', collateral, `1 ${collateral}`),
    trading_end: END[record.venue],
  }
}

const END = Object.fromEntries(
  Object.entries(VENUES).map(([venue, { trading }]) => [
    venue,
    trading.stopsAtClose
      ? fromRule('the venue’s order rules', 'matching stops at the close time', 'at the close')
      : fromRule(
          'the venue’s order rules',
          'orders match until the market is closed',
          'after the close',
        ),
  ]),
) as Readonly<Record<VenueId, Term>>

/** Evidence of a member of the record. */
export function said(source: string, text: string): Evidence {
  return { kind: 'record', source, said: text }
}
