import { readFileSync } from 'node:fs'
import * as v from 'valibot'
import {
  OPERATOR_ID,
  parseContractId,
  PriorbookError,
  VENUE_IDS,
  type MarketRecord,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { NamedContract, NamedMember, OperatorContracts, Refusal } from '../route.ts'

/** What an operator without a file says: nothing. */
export const NO_OPERATOR: OperatorContracts = { named: new Map(), refusals: [] }

// Lists of contracts look every named one up.
const MAX_CONTRACTS = 1000
const MAX_MEMBERS = 10
const MAX_REFUSALS = 10_000

const TEXT = v.pipe(v.string('must be text'), v.minLength(1, 'must not be empty'))
const VENUE = v.picklist(VENUE_IDS, `must be one of ${VENUE_IDS.join(', ')}`)
const MEMBER = v.strictObject({ venue: VENUE, market_id: TEXT, yes: TEXT })
const CONTRACT = v.strictObject({
  id: v.pipe(TEXT, v.check(isContractId, 'must be x- and a name, or the id of a derived contract')),
  title: v.optional(TEXT),
  members: v.pipe(
    v.array(MEMBER, 'must be a list of members'),
    v.minLength(1, 'must not be empty'),
    v.maxLength(MAX_MEMBERS, `must have at most ${MAX_MEMBERS} members`),
  ),
})
const REFUSAL = v.pipe(
  v.strictObject({
    venue: VENUE,
    market_id: v.optional(TEXT),
    asset: v.optional(TEXT),
    window: v.optional(TEXT),
    why: TEXT,
  }),
  v.check(
    ({ market_id: id, asset, window }) =>
      id !== undefined || asset !== undefined || window !== undefined,
    'must have a market_id, an asset or a window',
  ),
)
const FILE = v.strictObject({
  contracts: v.optional(
    v.pipe(
      v.array(CONTRACT, 'must be a list of contracts'),
      v.maxLength(MAX_CONTRACTS, `must have at most ${MAX_CONTRACTS} contracts`),
    ),
    [],
  ),
  refuse: v.optional(
    v.pipe(
      v.array(REFUSAL, 'must be a list of refusals'),
      v.maxLength(MAX_REFUSALS, `must have at most ${MAX_REFUSALS} refusals`),
    ),
    [],
  ),
})

/** Reads an operator's file of contracts; the error names the wrong value and its place. */
export function readOperatorFile(file: string): OperatorContracts {
  const { issues, output } = v.safeParse(FILE, readJson(file))
  if (issues !== undefined) {
    const place = issues[0].path?.map(({ key }) => String(key)).join('.') ?? 'it'
    throw invalid(`${file}: ${place} ${issues[0].message}`)
  }
  const named = new Map<string, NamedContract>()
  for (const { id, title, members } of output.contracts) {
    if (named.has(id)) throw invalid(`${file}: the contract ${id} is there twice`)
    const all = members.map(toMember)
    named.set(id, { members: all, ...(title === undefined ? {} : { title }) })
  }
  return { named, refusals: output.refuse.map(toRefusal) }
}

/** An operator's file that can be read again. */
export type OpenedContracts = {
  /** What the file said when it was last right. */
  readonly current: () => OperatorContracts
  /** Reads the file again; a wrong one changes nothing. */
  readonly reload: () => void
}

/** Opens an operator's file, or none where the name is empty; throws where it is wrong. */
export function openContracts(file: string, onTrouble: (why: string) => void): OpenedContracts {
  let contracts = file === '' ? NO_OPERATOR : readOperatorFile(file)
  return {
    current: () => contracts,
    reload() {
      if (file === '') return
      try {
        contracts = readOperatorFile(file)
      } catch (error) {
        if (!(error instanceof PriorbookError)) throw error
        onTrouble(error.message)
      }
    },
  }
}

/** Why an operator leaves a market out of derived contracts; undefined where it is not left out. */
export function refusalOf(
  { refusals }: OperatorContracts,
  record: Pick<MarketRecord, 'venue' | 'marketId' | 'asset' | 'window'>,
): Refusal | undefined {
  return refusals.find(
    ({ venue, marketId, asset, window }) =>
      venue === record.venue &&
      (marketId === undefined || marketId === record.marketId) &&
      (asset === undefined || asset === record.asset?.toUpperCase()) &&
      (window === undefined || window === record.window),
  )
}

function isContractId(id: string): boolean {
  return OPERATOR_ID.test(id) || parseContractId(id) !== undefined
}

function toMember(member: { venue: VenueId; market_id: string; yes: string }): NamedMember {
  const { venue, market_id: marketId, yes } = member
  return { venue, marketId, yes }
}

function toRefusal(said: v.InferOutput<typeof REFUSAL>): Refusal {
  const { venue, market_id: marketId, asset, window, why } = said
  return {
    venue,
    why,
    ...(marketId === undefined ? {} : { marketId }),
    ...(asset === undefined ? {} : { asset: asset.toUpperCase() }),
    ...(window === undefined ? {} : { window }),
  }
}

function readJson(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw invalid(`${file} cannot be read`, cause)
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalid(`${file} is not JSON: ${cause instanceof Error ? cause.message : ''}`, cause)
  }
}

function invalid(detail: string, cause?: unknown): PriorbookError {
  return new PriorbookError('invalid_config', detail, { cause })
}
