import type { MarketRecord } from '../market.ts'
import { VENUES } from '../venues/index.ts'
import { printContractId } from './contract-id.ts'
import {
  TERM_MEANINGS,
  TERM_NAMES,
  TIES,
  UNKNOWN,
  type ContractSubject,
  type MarketTerms,
  type Term,
  type TermName,
} from './terms.ts'

/** A member of a contract with what the rules derived; `terms` is absent where only an operator named it. */
export type ComparedMember = {
  readonly record: Pick<MarketRecord, 'venue' | 'marketId'>
  readonly terms?: MarketTerms['terms'] | undefined
  readonly subject?: ContractSubject | undefined
}

/** In what members can differ: what they are about, where an operator joined them, and every term. */
export const DIFFERENCE_NAMES = ['subject', ...TERM_NAMES] as const

/** The name of a difference. */
export type DifferenceName = (typeof DIFFERENCE_NAMES)[number]

/** A term in which members differ, or which is not known of one of them. */
export type Difference = {
  readonly term: DifferenceName
  /** The value of each member, in their order; undefined where it is not known. */
  readonly values: readonly (string | undefined)[]
  /** What it means for a holder. */
  readonly meaning: string
}

/** How the members of a contract compare. */
export type Comparison = 'single' | 'identical' | 'equivalent_except'

/**
 * Compares members. They are identical only where all are about the same by the rules, and every term of all is
 * known and equal: what cannot be derived is a difference too.
 */
export function compareMembers(members: readonly ComparedMember[]): {
  readonly comparison: Comparison
  readonly differences: readonly Difference[]
} {
  if (members.length < 2) return { comparison: 'single', differences: [] }
  const terms = TERM_NAMES.flatMap((term) => differenceOf(term, members) ?? [])
  const differences = [...differingSubjects(members), ...terms]
  return { comparison: differences.length === 0 ? 'identical' : 'equivalent_except', differences }
}

// The rules join only markets of one subject; an operator may join others, such as rounds that close at other times.
function differingSubjects(members: readonly ComparedMember[]): readonly Difference[] {
  const values = members.map(({ subject }) => subject && printContractId(subject))
  const known = new Set(values.filter((value) => value !== undefined))
  return known.size < 2 ? [] : [{ term: 'subject', values, meaning: SUBJECT_MEANING }]
}

const SUBJECT_MEANING =
  'By the rules the members are different bets, such as on a price at another time: one can pay Yes while another pays No.'

function differenceOf(term: TermName, members: readonly ComparedMember[]): Difference | undefined {
  const values = members.map(({ terms }) => (terms?.[term] ?? UNKNOWN).value)
  const known = values.filter((value) => value !== undefined)
  const isEqual = new Set(known).size <= 1
  if (isEqual && known.length === values.length) return undefined
  return { term, values, meaning: meaningOf(term, members, values, isEqual) }
}

function meaningOf(
  term: TermName,
  members: readonly ComparedMember[],
  values: readonly (string | undefined)[],
  isEqual: boolean,
): string {
  const meaning = isEqual ? POSSIBLE[term] : TERM_MEANINGS[term]
  const ties =
    term === 'tie'
      ? ` ${members.map(({ record }, at) => `${VENUES[record.venue].label} ${tieText(values[at])}`).join(', ')}.`
      : ''
  return `${meaning}${ties}`
}

function tieText(value: string | undefined): string {
  return value === undefined ? 'does not say' : (TIES[value as keyof typeof TIES] ?? value)
}

// Where what is known agrees, a difference is only possible.
const POSSIBLE = Object.fromEntries(
  TERM_NAMES.map((term) => [
    term,
    `It is not known of every member, so this is possible: ${TERM_MEANINGS[term].slice(0, 1).toLowerCase()}${TERM_MEANINGS[term].slice(1)}`,
  ]),
) as Readonly<Record<TermName, string>>

/** A term with every value filled in, for lists. */
export function termOf(terms: MarketTerms['terms'] | undefined, name: TermName): Term {
  return terms?.[name] ?? UNKNOWN
}
