import type { Micros } from '../micros.ts'

/** The version of the rules that derive contracts; it grows when a rule changes what it gives. */
export const RULES_VERSION = 1

/** What can be bet on; each kind with the sentence that the docs show. */
export const CONTRACT_KINDS = {
  up_down: 'Yes wins if the price of the underlying rises between the two bounds of the window.',
  above: 'Yes wins if the price of the underlying is above the strike when the window closes.',
  range: 'Yes wins if the price of the underlying is between two strikes when the window closes.',
  event: 'Yes wins if the named outcome happens; only the operator’s file names such contracts.',
} as const

/** The name of one kind. */
export type ContractKind = keyof typeof CONTRACT_KINDS

/**
 * What is bet on. Two markets are members of one contract if and only if their subjects are equal.
 * The beginning of the window belongs to `up_down` alone, which compares two prices: an `above` or a
 * `range` is decided by one price, and when trading began says nothing about it.
 */
export type ContractSubject =
  | {
      readonly kind: 'up_down'
      readonly asset: string
      /** The length of the window as the venues name it, such as `15m`. */
      readonly window: string
      readonly opens: Micros
      readonly closes: Micros
    }
  | {
      readonly kind: 'above'
      readonly asset: string
      readonly strike: string
      readonly closes: Micros
    }
  | {
      readonly kind: 'range'
      readonly asset: string
      readonly floor: string
      readonly cap: string
      readonly closes: Micros
    }

/** Where the value of a term comes from. */
export type Evidence = {
  /** `record`: a member of the stored record; `rule`: a documented rule of the venue. */
  readonly kind: 'record' | 'rule'
  /** The path of the member, such as `native.market.strike_type`, or where the rule is documented. */
  readonly source: string
  /** What it says, as it says it. */
  readonly said: string
  /** The UTC day from which a rule applies, where it was another one before. */
  readonly since?: string
}

/** One term of a market; without a value it cannot be derived, and is unknown. */
export type Term = { readonly value?: string; readonly evidence?: Evidence }

/** The terms that are compared, with what a difference means for a holder. */
export const TERM_MEANINGS = {
  settlement_source:
    'The price that decides comes from another source: close to the reference, one member can pay Yes while another pays No.',
  settlement_price:
    'Another price of the source decides, such as an average instead of the last one: a move in the last seconds counts differently.',
  reference_price:
    'The price at the end is compared with another number: between the two numbers one member pays Yes while another pays No.',
  tie: 'If the price ends exactly on the reference, the members pay differently.',
  rounding:
    'The price is rounded differently before it is compared: within the rounding, members can pay differently.',
  payout: 'A winning share pays in another currency, whose value can differ.',
  trading_end:
    'One member can still be traded when another has stopped: a position of both cannot be closed at the same time.',
} as const

/** The name of a term. */
export type TermName = keyof typeof TERM_MEANINGS

/** The terms in the order of lists. */
export const TERM_NAMES = Object.keys(TERM_MEANINGS) as readonly TermName[]

/** How a tie is paid. */
export const TIES = { yes: 'pays Yes', no: 'pays No', half: 'pays half to each' } as const

/** What one market is, by the rules. */
export type MarketTerms = {
  readonly subject: ContractSubject
  /** Why the subject is what it is, by the names of its members. */
  readonly evidence: Readonly<Record<string, Evidence>>
  readonly terms: Readonly<Record<TermName, Term>>
  /** The index of the outcome that is Yes of the contract. */
  readonly yesIndex: 0 | 1
}

/** A term that a member of the record gives. */
export function fromRecord(source: string, said: string, value = said): Term {
  return { value, evidence: { kind: 'record', source, said } }
}

/** A term that a documented rule gives. */
export function fromRule(source: string, said: string, value: string, since?: string): Term {
  const evidence = { kind: 'rule', source, said } as const
  return { value, evidence: since === undefined ? evidence : { ...evidence, since } }
}

/** A term that cannot be derived. */
export const UNKNOWN: Term = {}
