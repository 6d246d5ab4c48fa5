import { CONTRACT_KINDS, DIFFERENCE_NAMES, TERM_NAMES, type ContractKind } from '../domain/index.ts'
import { GAP_SCHEMA } from './gap.ts'
import {
  COUNT,
  DECIMAL_OR_NULL,
  described,
  listOf,
  named,
  objectOf,
  ORDINAL,
  orNull,
  TEXT,
  TEXT_OR_NULL,
  TIME_OR_NULL,
  VENUE,
  withMembers,
  wordOf,
  type TypeOf,
} from './json-schema.ts'
import { MARKET_STATUS_SCHEMA } from './market-common.ts'

/** The states of a contract: by the clock, and `resolved` once all members are. */
export const CONTRACT_STATUSES = ['scheduled', 'open', 'closed', 'resolved'] as const

/** The state of a contract. */
export type ContractStatus = (typeof CONTRACT_STATUSES)[number]

/** The kinds of contracts. */
export const CONTRACT_KIND_NAMES = Object.keys(CONTRACT_KINDS) as readonly ContractKind[]

const TERM_NAME = named('ContractTermName', wordOf(TERM_NAMES))
const DIFFERENCE_NAME = named('ContractDifferenceName', wordOf(DIFFERENCE_NAMES))

/** Which market a member is. */
export const MEMBER_IDENTITY = {
  venue: VENUE,
  market_id: described(TEXT, 'The venue’s own identifier of the market.'),
} as const

const SIDE = named(
  'ContractSide',
  objectOf(
    { outcome: TEXT, index: COUNT, token_id: TEXT_OR_NULL },
    { description: 'An outcome of a member, by the venue’s own label and token.' },
  ),
)

const MEMBER_SCHEMA = named(
  'ContractMember',
  objectOf(
    {
      ...MEMBER_IDENTITY,
      address: described(TEXT, 'Where the market is.'),
      title: TEXT_OR_NULL,
      status: orNull(MARKET_STATUS_SCHEMA),
      winning_outcome: TEXT_OR_NULL,
      yes: described(SIDE, 'The outcome that is Yes of the contract.'),
      no: described(orNull(SIDE), 'The other outcome.'),
      matched_by: described(
        named('ContractMatch', wordOf(['rules', 'operator'])),
        'The rules, or the operator’s file.',
      ),
    },
    { description: 'A market that is a member of a contract.' },
  ),
)

const SUBJECT = {
  id: described(
    TEXT,
    'Such as btc-15m-up-down-20261117T174500Z: what is bet on, and when it closes.',
  ),
  kind: named('ContractKind', wordOf(CONTRACT_KIND_NAMES)),
  title: described(TEXT_OR_NULL, 'The operator’s title, else that of a member.'),
  asset: described(TEXT_OR_NULL, 'The underlying, such as BTC.'),
  window: described(TEXT_OR_NULL, 'The length of the window as the venues name it, such as 15m.'),
  opens: described(
    TIME_OR_NULL,
    'When the window begins; of `above` and `range` it does not matter.',
  ),
  closes: described(TIME_OR_NULL, 'When the window ends.'),
  strike: described(DECIMAL_OR_NULL, 'Of `above`: the price.'),
  floor: described(DECIMAL_OR_NULL, 'Of `range`: the lower price, which belongs to it.'),
  cap: described(DECIMAL_OR_NULL, 'Of `range`: the upper price, which does not.'),
  status: named('ContractStatus', wordOf(CONTRACT_STATUSES)),
  rules_version: described(ORDINAL, 'The version of the rules that matched the members.'),
  comparison: described(
    named('ContractComparison', wordOf(['single', 'identical', 'equivalent_except'])),
    '`identical` only where every term of all members is known and equal.',
  ),
  differs_in: described(
    listOf(DIFFERENCE_NAME),
    'The terms that differ or are not known; `subject` where an operator joined different bets.',
  ),
  members: listOf(MEMBER_SCHEMA),
  withheld: described(listOf(VENUE), 'Venues with members that the plan does not include.'),
} as const

/** The schema of a contract in a list. */
export const CONTRACT_SCHEMA = named(
  'Contract',
  objectOf(SUBJECT, { description: 'What is being bet on, with the markets that bet on it.' }),
)

/** A contract in a list. */
export type ContractJson = TypeOf<typeof CONTRACT_SCHEMA>

const EVIDENCE = {
  kind: described(
    named('ContractEvidenceKind', wordOf(['record', 'rule'])),
    '`record`: a member of the market record; `rule`: a documented rule of the venue.',
  ),
  source: described(TEXT, 'The path of the member, or where the rule is documented.'),
  said: described(TEXT, 'What it says.'),
  since: described(TEXT_OR_NULL, 'The UTC day from which the rule applies.'),
} as const

const EVIDENCE_SCHEMA = named('ContractEvidence', objectOf(EVIDENCE))

const TERM_SCHEMA = named(
  'ContractTerm',
  objectOf({
    term: TERM_NAME,
    value: described(TEXT_OR_NULL, 'Null where it cannot be derived.'),
    evidence: orNull(EVIDENCE_SCHEMA),
  }),
)

const MEMBER_TERMS_SCHEMA = named(
  'ContractMemberTerms',
  withMembers(MEMBER_SCHEMA, {
    terms: listOf(TERM_SCHEMA),
    evidence: described(
      listOf(named('ContractSubjectEvidence', objectOf({ of: TEXT, ...EVIDENCE }))),
      'Why the market is about this contract.',
    ),
  }),
)

const DIFFERENCE_SCHEMA = named(
  'ContractDifference',
  objectOf({
    term: DIFFERENCE_NAME,
    values: listOf(
      named('ContractTermValue', objectOf({ ...MEMBER_IDENTITY, value: TEXT_OR_NULL })),
    ),
    meaning: described(TEXT, 'What it means for a holder.'),
  }),
)

/** The schema of one contract with its terms. */
export const CONTRACT_WITH_TERMS_SCHEMA = named(
  'ContractWithTerms',
  objectOf({
    ...SUBJECT,
    members: listOf(MEMBER_TERMS_SCHEMA),
    differences: listOf(DIFFERENCE_SCHEMA),
    refused: described(
      listOf(named('ContractRefusal', objectOf({ ...MEMBER_IDENTITY, why: TEXT }))),
      'Markets that the operator’s file leaves out.',
    ),
  }),
)

/** One contract with its terms. */
export type ContractWithTermsJson = TypeOf<typeof CONTRACT_WITH_TERMS_SCHEMA>

/** Why a member has no book at a time. */
export const REASON_SCHEMA = named(
  'ContractReason',
  objectOf(
    {
      code: described(TEXT, 'The reason of a gap, or the code of a notice.'),
      message: TEXT,
      gap: described(orNull(GAP_SCHEMA), 'The gap that the time lies in.'),
    },
    { description: 'Why a member has no book at a time.' },
  ),
)

/** Why a member has no book at a time. */
export type ContractReasonJson = TypeOf<typeof REASON_SCHEMA>
