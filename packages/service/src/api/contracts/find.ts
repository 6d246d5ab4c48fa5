import {
  deriveTerms,
  parseContractId,
  printContractId,
  titleWords,
  type ContractSubject,
  type MarketRecord,
  type MarketTerms,
  type VenueId,
} from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import { BoundedMap } from '../../lib/bounded-map.ts'
import type { MarketState, StoreReader } from '../../store/store.ts'
import { planAsset } from '../markets/find.ts'
import type { ApiContext, Grant, NamedContract, OperatorContracts } from '../route.ts'
import { NO_OPERATOR, refusalOf } from './operator-file.ts'

/** A market that is a member of a contract. */
export type ContractMember = {
  readonly state: MarketState
  /** Absent where only an operator's file knows the market. */
  readonly derived?: MarketTerms | undefined
  /** The index of the outcome that is Yes of the contract. */
  readonly yesIndex: number
  readonly matchedBy: 'rules' | 'operator'
}

/** A contract with its members, in the order of venues and ids. */
export type FoundContract = {
  readonly id: string
  /** Absent where only an operator's file names the contract. */
  readonly subject?: ContractSubject | undefined
  readonly title?: string | undefined
  readonly members: readonly ContractMember[]
  /** Markets that the operator's file leaves out. */
  readonly refused: readonly { readonly state: MarketState; readonly why: string }[]
}

/** A contract as one caller sees it. */
export type SeenContract = FoundContract & {
  /** Venues with members that the plan does not include. */
  readonly withheld: readonly VenueId[]
}

/** Finds a contract and what of it a plan includes; throws `Problem` where that is nothing. */
export async function findContract(
  context: ApiContext,
  grant: Grant,
  id: string,
): Promise<SeenContract> {
  const contract = await lookUp(context, id)
  if (contract === undefined) {
    throw new Problem('unknown_contract', `no market of the contract ${show(id)} is recorded`, {
      param: 'contract_id',
      hint: hintFor(id),
    })
  }
  const seen = seenBy(contract, grant)
  const [hidden] = contract.members
  if (seen.members.length === 0 && hidden !== undefined) {
    const { record } = hidden.state
    grant.requireVenue(record.venue)
    grant.requireAsset(record.venue, planAsset(record))
  }
  return seen
}

/** What of a contract a plan includes. */
export function seenBy(contract: FoundContract, grant: Grant): SeenContract {
  const isSeen = ({ state: { record } }: Pick<ContractMember, 'state'>): boolean =>
    grant.allows(record.venue, planAsset(record))
  const members = contract.members.filter(isSeen)
  const hidden = contract.members.filter((member) => !isSeen(member))
  const withheld = [...new Set(hidden.map(({ state }) => state.record.venue))]
  return { ...contract, members, refused: contract.refused.filter(isSeen), withheld }
}

/** What an operator says about contracts. */
export function operatorOf({ contracts }: ApiContext): OperatorContracts {
  return contracts?.() ?? NO_OPERATOR
}

// Contracts that were looked up under one stamp of a store and one version of the operator's file.
type Known = {
  readonly stamp: string
  readonly operator: OperatorContracts
  readonly contracts: BoundedMap<string, FoundContract>
}
const MAX_KNOWN = 1024
const known = new WeakMap<StoreReader, Known>()

async function lookUp(context: ApiContext, id: string): Promise<FoundContract | undefined> {
  const { store } = context
  const operator = operatorOf(context)
  const stamp = await store.stamp()
  let cache = known.get(store)
  if (cache?.stamp !== stamp || cache.operator !== operator) {
    cache = { stamp, operator, contracts: new BoundedMap(MAX_KNOWN) }
    known.set(store, cache)
  }
  let contract = cache.contracts.get(id)
  if (contract === undefined) {
    contract = await readContract(store, operator, id)
    if (contract !== undefined) cache.contracts.set(id, contract)
  }
  return contract
}

/** Reads a contract from the catalogue; undefined where none of its markets is recorded. */
export async function readContract(
  store: StoreReader,
  operator: OperatorContracts,
  id: string,
): Promise<FoundContract | undefined> {
  const subject = parseContractId(id)
  const markets = subject === undefined ? [] : await marketsOf(store, subject)
  return joinContract(store, operator, { id, subject, markets })
}

/** Makes a contract of the markets that the rules found, and of what the operator says about it. */
export async function joinContract(
  store: StoreReader,
  operator: OperatorContracts,
  found: {
    readonly id: string
    readonly subject: ContractSubject | undefined
    readonly markets: readonly MarketState[]
  },
): Promise<FoundContract | undefined> {
  const { id, subject } = found
  const named = operator.named.get(id)
  const members = new Map<string, ContractMember>()
  const refused: { state: MarketState; why: string }[] = []
  for (const state of found.markets) {
    const refusal = refusalOf(operator, state.record)
    const derived = deriveTerms(state.record)
    if (refusal !== undefined) refused.push({ state, why: refusal.why })
    else if (derived !== undefined) {
      members.set(nameOf(state), { state, derived, yesIndex: derived.yesIndex, matchedBy: 'rules' })
    }
  }
  // What an operator adds counts, whatever another line refuses in general.
  for (const member of await namedMembers(store, named)) members.set(nameOf(member.state), member)
  if (members.size === 0 && refused.length === 0) return undefined
  return {
    id,
    subject,
    title: named?.title,
    members: [...members.values()].sort(compareMembers),
    refused,
  }
}

async function namedMembers(
  store: StoreReader,
  named: NamedContract | undefined,
): Promise<readonly ContractMember[]> {
  const members: ContractMember[] = []
  for (const { venue, marketId, yes } of named?.members ?? []) {
    const state = await store.market(venue, marketId)
    const wanted = yes.toLowerCase()
    const outcome = state?.record.outcomes.find(({ label }) => label.toLowerCase() === wanted)
    // A market that is not recorded yet, or has another outcome by that name, is not a member.
    if (state === undefined || outcome === undefined) continue
    const own = deriveTerms(state.record)
    const derived = own?.yesIndex === outcome.index ? own : own && turnRound(own)
    members.push({ state, derived, yesIndex: outcome.index, matchedBy: 'operator' })
  }
  return members
}

// The operator may name the other outcome as Yes: then a tie pays the other side.
function turnRound(derived: MarketTerms): MarketTerms {
  const { tie } = derived.terms
  const other = tie.value === 'yes' ? 'no' : tie.value === 'no' ? 'yes' : tie.value
  const turned = other === undefined ? tie : { ...tie, value: other }
  return { ...derived, terms: { ...derived.terms, tie: turned } }
}

// Markets of one read: a contract has few, and every one that is read is unpacked.
const FIRST_READ = 4
const MAX_READ = 500
// Markets that close together and are looked at for one contract; more than any venue has.
const MAX_VISITED = 4000

/** The recorded markets that are about a subject. */
async function marketsOf(
  store: StoreReader,
  subject: ContractSubject,
): Promise<readonly MarketState[]> {
  const { asset, closes } = subject
  const id = printContractId(subject)
  const markets =
    subject.kind === 'up_down'
      ? await closingAt(store, closes, { asset, window: subject.window })
      : [
          ...(await closingAt(store, closes, { asset })),
          ...(await readTitled(store, asset, closes)),
        ]
  return markets.filter((state) => isAbout(state, id))
}

/** True for a market that the rules make a member of a contract. */
export function isAbout({ record }: Pick<MarketState, 'record'>, id: string): boolean {
  const derived = deriveTerms(record)
  return derived !== undefined && printContractId(derived.subject) === id
}

/** True for a market that belongs to a contract, by the operator's file or by the rules. */
export function isMember(operator: OperatorContracts, record: MarketRecord, id: string): boolean {
  const { venue, marketId } = record
  const named = operator.named.get(id)?.members ?? []
  if (named.some((one) => one.venue === venue && one.marketId === marketId)) return true
  return refusalOf(operator, record) === undefined && isAbout({ record }, id)
}

/** The markets that close at a time and name an asset in their title alone. */
export async function readTitled(
  store: StoreReader,
  asset: string,
  closes: number,
): Promise<readonly MarketState[]> {
  const markets: MarketState[] = []
  for (const { venue, word } of titleWords(asset)) {
    markets.push(...(await closingAt(store, closes, { venue, hasAsset: false, text: word })))
  }
  return markets
}

type Filters = Pick<
  Parameters<StoreReader['markets']>[0],
  'venue' | 'asset' | 'window' | 'hasAsset' | 'text'
>

// The list by close time begins at the time itself, because no venue's id is empty.
async function closingAt(
  store: StoreReader,
  closes: number,
  filters: Filters,
): Promise<readonly MarketState[]> {
  const found: MarketState[] = []
  let after = { openTime: 0, value: closes as number | null, venue: '', marketId: '' }
  let limit = FIRST_READ
  for (let visited = 0; visited < MAX_VISITED; visited += limit) {
    const page = await store.markets({
      ...filters,
      // A market that opens at its close is not one; this leaves the next round of a family unread.
      end: closes,
      sort: 'close_time',
      order: 'asc',
      after,
      limit,
    })
    for (const market of page.markets) {
      if (market.sortValue !== closes) return found
      found.push(market)
      const { venue, marketId } = market.record
      after = { openTime: market.sortTime, value: closes, venue, marketId }
    }
    if (page.reached !== undefined) {
      if (page.reached.value !== closes) return found
      after = { ...page.reached, value: closes }
    }
    if (!page.hasMore) return found
    limit = Math.min(MAX_READ, limit * 4)
  }
  return found
}

function nameOf({ record }: MarketState): string {
  return `${record.venue}:${record.marketId}`
}

function compareMembers(a: ContractMember, b: ContractMember): number {
  return nameOf(a.state) < nameOf(b.state) ? -1 : 1
}

function hintFor(id: string): string {
  return parseContractId(id) === undefined
    ? 'An id is such as btc-15m-up-down-20261117T174500Z, btc-above-95000-20261118T170000Z or x-name; /v3/contracts lists them.'
    : 'The id is well formed, but no recorded market is about it; /v3/contracts lists those that are recorded.'
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, 100))
}
