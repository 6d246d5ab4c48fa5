import type { MarketRecord } from '../../market.ts'
import { VENUE_IDS, type VenueId } from '../../venues/index.ts'
import type { ContractSubject, MarketTerms } from '../terms.ts'
import type { ContractRules, ListedTerms } from './derive.ts'
import { CONTRACTS_A } from './venuea.ts'
import { CONTRACTS_B } from './venueb.ts'
import { CONTRACTS_C } from './venuec.ts'

/** The registry of the rules of contracts; the compiler forces it to be complete. */
const CONTRACT_RULES: Readonly<Record<VenueId, ContractRules>> = {
  venuea: CONTRACTS_A,
  venueb: CONTRACTS_B,
  venuec: CONTRACTS_C,
}

/** What a market is, by the rules of its venue; undefined where they do not know it. */
export function deriveTerms(record: MarketRecord): MarketTerms | undefined {
  let terms = derived.get(record)
  if (terms === undefined) {
    const found = CONTRACT_RULES[record.venue].derive(record)
    terms = found === undefined || isEmpty(found.subject) ? 'none' : found
    derived.set(record, terms)
  }
  return terms === 'none' ? undefined : terms
}

// A record whose window ends before it begins describes nothing.
function isEmpty(subject: ContractSubject): boolean {
  return subject.kind === 'up_down' && subject.opens >= subject.closes
}

// Lists give the same object for the same version of a record.
const derived = new WeakMap<MarketRecord, MarketTerms | 'none'>()

/** False for a market that is at most a round, whatever else its record says. */
export function mayBePrice(listed: ListedTerms): boolean {
  return CONTRACT_RULES[listed.venue].mayBePrice?.(listed) ?? false
}

/** The words by which titles name an asset where records do not, by venue. */
export function titleWords(
  asset: string,
): readonly { readonly venue: VenueId; readonly word: string }[] {
  return VENUE_IDS.flatMap((venue) => {
    const word = CONTRACT_RULES[venue].titleWord?.(asset)
    return word === undefined ? [] : { venue, word }
  })
}
