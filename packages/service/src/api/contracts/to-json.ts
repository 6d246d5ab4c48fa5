import {
  compareMembers,
  isLastStatus,
  marketAddress,
  RULES_VERSION,
  TERM_NAMES,
  termOf,
  type Comparison,
  type Difference,
  type Evidence,
} from '@priorbook/sdk/domain'
import {
  decimalJson,
  timeJson,
  type ContractJson,
  type ContractStatus,
  type ContractWithTermsJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import type { ContractMember, FoundContract, SeenContract } from './find.ts'

/** A contract as lists show it. */
export function toContractJson(
  contract: SeenContract,
  now: number,
  style: ValueStyle,
): ContractJson {
  const { comparison, differences } = compare(contract.members)
  return {
    ...toSubjectJson(contract, now, { comparison, differences }, style),
    members: contract.members.map(toMemberJson),
    withheld: contract.withheld,
  }
}

/** A contract with the terms of its members and every difference. */
export function toContractWithTermsJson(
  contract: SeenContract,
  now: number,
  style: ValueStyle,
): ContractWithTermsJson {
  const { members, refused, withheld } = contract
  const { comparison, differences } = compare(members)
  return {
    ...toSubjectJson(contract, now, { comparison, differences }, style),
    members: members.map((member) => ({ ...toMemberJson(member), ...toTermsJson(member) })),
    withheld,
    differences: differences.map(({ term, values, meaning }) => ({
      term,
      values: members.map(({ state: { record } }, at) => ({
        venue: record.venue,
        market_id: record.marketId,
        value: values[at] ?? null,
      })),
      meaning,
    })),
    refused: refused.map(({ state: { record }, why }) => ({
      venue: record.venue,
      market_id: record.marketId,
      why,
    })),
  }
}

/** When the window of a contract begins and ends, as far as it is known. */
export function windowOf({ subject, members }: FoundContract): {
  readonly opens: number | undefined
  readonly closes: number | undefined
} {
  const opens = members.flatMap(({ state }) => state.record.openTime ?? [])
  const closes = members.flatMap(({ state }) => state.record.closeTime ?? [])
  return {
    opens:
      subject?.kind === 'up_down'
        ? subject.opens
        : opens.length === 0
          ? undefined
          : Math.min(...opens),
    closes: subject?.closes ?? (closes.length === 0 ? undefined : Math.max(...closes)),
  }
}

/** The state of a contract at a time. */
export function statusOf(contract: FoundContract, now: number): ContractStatus {
  const { members } = contract
  if (members.length > 0 && members.every(({ state }) => isLastStatus(state.record.status ?? ''))) {
    return 'resolved'
  }
  const { opens = 0, closes = Infinity } = windowOf(contract)
  if (now < opens) return 'scheduled'
  return now < closes ? 'open' : 'closed'
}

function compare(members: readonly ContractMember[]) {
  return compareMembers(
    members.map(({ state: { record }, derived }) => ({
      record,
      terms: derived?.terms,
      subject: derived?.subject,
    })),
  )
}

type Compared = { readonly comparison: Comparison; readonly differences: readonly Difference[] }

function toSubjectJson(
  contract: SeenContract,
  now: number,
  { comparison, differences }: Compared,
  style: ValueStyle,
): Omit<ContractJson, 'members' | 'withheld'> {
  const { id, subject, title, members } = contract
  const { opens, closes } = windowOf(contract)
  const price = (text: string | undefined) => decimalJson(text, style)
  return {
    id,
    kind: subject?.kind ?? 'event',
    title:
      title ??
      members.find(({ state }) => state.record.title !== undefined)?.state.record.title ??
      null,
    asset: subject?.asset ?? null,
    window: subject?.kind === 'up_down' ? subject.window : null,
    opens: timeJson(opens, style),
    closes: timeJson(closes, style),
    strike: price(subject?.kind === 'above' ? subject.strike : undefined),
    floor: price(subject?.kind === 'range' ? subject.floor : undefined),
    cap: price(subject?.kind === 'range' ? subject.cap : undefined),
    status: statusOf(contract, now),
    rules_version: RULES_VERSION,
    comparison,
    differs_in: differences.map(({ term }) => term),
  }
}

function toMemberJson(member: ContractMember): ContractJson['members'][number] {
  const { record } = member.state
  const yes = record.outcomes.find(({ index }) => index === member.yesIndex)
  const no = record.outcomes.find(({ index }) => index !== member.yesIndex)
  return {
    venue: record.venue,
    market_id: record.marketId,
    address: marketAddress(record.venue, record.marketId, record.asset),
    title: record.title ?? null,
    status: record.status ?? null,
    winning_outcome: record.winningOutcome ?? null,
    yes: {
      outcome: yes?.label ?? 'Yes',
      index: member.yesIndex,
      token_id: yes?.tokenId ?? null,
    },
    no:
      no === undefined
        ? null
        : { outcome: no.label, index: no.index, token_id: no.tokenId ?? null },
    matched_by: member.matchedBy,
  }
}

type MemberTerms = Pick<ContractWithTermsJson['members'][number], 'terms' | 'evidence'>

function toTermsJson({ derived }: ContractMember): MemberTerms {
  return {
    terms: TERM_NAMES.map((term) => {
      const { value, evidence } = termOf(derived?.terms, term)
      return { term, value: value ?? null, evidence: evidence ? toEvidenceJson(evidence) : null }
    }),
    evidence: Object.entries(derived?.evidence ?? {}).map(([of, evidence]) => ({
      of,
      ...toEvidenceJson(evidence),
    })),
  }
}

function toEvidenceJson({ kind, source, said, since }: Evidence) {
  return { kind, source, said, since: since ?? null }
}
