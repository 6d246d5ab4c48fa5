import {
  deriveTerms,
  parseContractId,
  printContractId,
  printMicros,
  titleWords,
  type ContractSubject,
  type MarketRecord,
  type MarketTerms,
  type Micros,
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
  /** Members of now whose record of the wanted time was removed by retention. */
  readonly forgotten: readonly MarketState[]
}

/** A contract as one caller sees it. */
export type SeenContract = FoundContract & {
  /** Venues with members that the plan does not include. */
  readonly withheld: readonly VenueId[]
}

/**
 * Finds a contract and what of it a plan includes; throws `Problem` where that is nothing. With `knownAt` it is the
 * contract by the records of that time.
 */
export async function findContract(
  context: ApiContext,
  grant: Grant,
  id: string,
  knownAt?: Micros,
): Promise<SeenContract> {
  if (knownAt !== undefined) requireKnown(context, grant, knownAt)
  const contract = await lookUp(context, id, knownAt)
  if (contract === undefined) {
    const when = knownAt === undefined ? 'is recorded' : 'was recorded at known_at'
    throw new Problem('unknown_contract', `no market of the contract ${show(id)} ${when}`, {
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

function requireKnown({ now }: ApiContext, grant: Grant, knownAt: Micros): void {
  const window = grant.windowStart(now())
  if (knownAt >= window) return
  const detail = `the plan ${grant.plan} does not reach back to known_at`
  throw new Problem('plan_required', detail, {
    param: 'known_at',
    hint: `It reaches back to ${printMicros(window)}.`,
  })
}

/** What of a contract a plan includes. */
export function seenBy(contract: FoundContract, grant: Grant): SeenContract {
  const isSeen = ({ state: { record } }: Pick<ContractMember, 'state'>): boolean =>
    grant.allows(record.venue, planAsset(record))
  const members = contract.members.filter(isSeen)
  const hidden = contract.members.filter((member) => !isSeen(member))
  const withheld = [...new Set(hidden.map(({ state }) => state.record.venue))]
  const forgotten = contract.forgotten.filter((state) => isSeen({ state }))
  return { ...contract, members, refused: contract.refused.filter(isSeen), forgotten, withheld }
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

async function lookUp(
  context: ApiContext,
  id: string,
  knownAt: Micros | undefined,
): Promise<FoundContract | undefined> {
  const { store } = context
  const operator = operatorOf(context)
  const stamp = await store.stamp()
  let cache = known.get(store)
  if (cache?.stamp !== stamp || cache.operator !== operator) {
    cache = { stamp, operator, contracts: new BoundedMap(MAX_KNOWN) }
    known.set(store, cache)
  }
  const name = knownAt === undefined ? id : `${id}@${knownAt}`
  let contract = cache.contracts.get(name)
  if (contract === undefined) {
    contract = await readContract(store, operator, id, knownAt)
    if (contract !== undefined) cache.contracts.set(name, contract)
  }
  return contract
}

/** Reads a contract from the catalogue; undefined where none of its markets is recorded. */
export async function readContract(
  store: StoreReader,
  operator: OperatorContracts,
  id: string,
  knownAt?: Micros,
): Promise<FoundContract | undefined> {
  const subject = parseContractId(id)
  const found = subject === undefined ? NO_MARKETS : await marketsOf(store, subject, knownAt)
  return joinContract(store, operator, { id, subject, ...found, knownAt })
}

/** Makes a contract of the markets that the rules found, and of what the operator says about it. */
export async function joinContract(
  store: StoreReader,
  operator: OperatorContracts,
  found: {
    readonly id: string
    readonly subject: ContractSubject | undefined
    readonly markets: readonly MarketState[]
    readonly forgotten?: readonly MarketState[]
    readonly knownAt?: Micros | undefined
  },
): Promise<FoundContract | undefined> {
  const { id, subject, knownAt } = found
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
  const added = await namedMembers(store, named, knownAt)
  for (const member of added.members) members.set(nameOf(member.state), member)
  const cut = [...(found.forgotten ?? []), ...added.forgotten]
  const forgotten = [...new Map(cut.map((state) => [nameOf(state), state])).values()]
  if (members.size + refused.length + forgotten.length === 0) return undefined
  return {
    id,
    subject,
    title: named?.title,
    members: [...members.values()].sort(compareMembers),
    refused,
    forgotten,
  }
}

async function namedMembers(
  store: StoreReader,
  named: NamedContract | undefined,
  knownAt: Micros | undefined,
): Promise<{
  readonly members: readonly ContractMember[]
  readonly forgotten: readonly MarketState[]
}> {
  const members: ContractMember[] = []
  const forgotten: MarketState[] = []
  for (const { venue, marketId, yes } of named?.members ?? []) {
    const wanted = yes.toLowerCase()
    const yesOf = (state: MarketState | undefined) =>
      state?.record.outcomes.find(({ label }) => label.toLowerCase() === wanted)
    const state = await store.market(venue, marketId, knownAt)
    if (state === undefined && knownAt !== undefined) {
      const now = await store.market(venue, marketId)
      const isMember = now !== undefined && yesOf(now) !== undefined
      if (isMember && (await isCut(store, now, knownAt))) forgotten.push(now)
    }
    const outcome = yesOf(state)
    // A market that is not recorded yet, or has another outcome by that name, is not a member.
    if (state === undefined || outcome === undefined) continue
    const own = deriveTerms(state.record)
    const derived = own?.yesIndex === outcome.index ? own : own && turnRound(own)
    members.push({ state, derived, yesIndex: outcome.index, matchedBy: 'operator' })
  }
  return { members, forgotten }
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

type FoundMarkets = {
  readonly markets: readonly MarketState[]
  readonly forgotten: readonly MarketState[]
}
const NO_MARKETS: FoundMarkets = { markets: [], forgotten: [] }

// The catalogue is that of now. A market whose close has moved since is looked for this far from its close of then.
const MOVED_MICROS = 3_600_000_000

/** The recorded markets that are about a subject, or were by their records of a time. */
async function marketsOf(
  store: StoreReader,
  subject: ContractSubject,
  knownAt: Micros | undefined,
): Promise<FoundMarkets> {
  const { asset, closes } = subject
  const id = printContractId(subject)
  const moved = knownAt === undefined ? 0 : MOVED_MICROS
  const listed =
    subject.kind === 'up_down'
      ? await closingAround(store, closes, moved, { asset, window: subject.window })
      : [
          ...(await closingAround(store, closes, moved, { asset })),
          ...(await readTitled(store, asset, closes, moved)),
        ]
  if (knownAt === undefined) {
    return { markets: listed.filter((state) => isAbout(state, id)), forgotten: [] }
  }
  const markets: MarketState[] = []
  const forgotten: MarketState[] = []
  for (const state of listed) {
    const { venue, marketId } = state.record
    const isSame = state.knownAt <= knownAt
    const known = isSame ? state : await store.market(venue, marketId, knownAt)
    if (known !== undefined) {
      if (isAbout(known, id)) markets.push(known)
    } else if (isAbout(state, id) && (await isCut(store, state, knownAt))) forgotten.push(state)
  }
  return { markets, forgotten }
}

// True where retention removed the versions of a record up to a time.
async function isCut(
  store: StoreReader,
  { record: { venue, marketId } }: MarketState,
  knownAt: number,
): Promise<boolean> {
  const [first] = await store.revisions(venue, marketId, { limit: 1 })
  return first !== undefined && first.revision > 1 && first.knownAt > knownAt
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
  moved = 0,
): Promise<readonly MarketState[]> {
  const markets: MarketState[] = []
  for (const { venue, word } of titleWords(asset)) {
    const filters = { venue, hasAsset: false, text: word }
    markets.push(...(await closingAround(store, closes, moved, filters)))
  }
  return markets
}

type Filters = Pick<
  Parameters<StoreReader['markets']>[0],
  'venue' | 'asset' | 'window' | 'hasAsset' | 'text'
>

// The list by close time begins at the time itself, because no venue's id is empty.
async function closingAround(
  store: StoreReader,
  closes: number,
  moved: number,
  filters: Filters,
): Promise<readonly MarketState[]> {
  const found: MarketState[] = []
  const last = closes + moved
  type Place = NonNullable<Parameters<StoreReader['markets']>[0]['after']>
  let after: Place = { openTime: 0, value: closes - moved, venue: '', marketId: '' }
  let limit = FIRST_READ
  for (let visited = 0; visited < MAX_VISITED; visited += limit) {
    const page = await store.markets({
      ...filters,
      // A market that opens at its close is not one; this leaves the next round of a family unread.
      end: last,
      sort: 'close_time',
      order: 'asc',
      after,
      limit,
    })
    for (const market of page.markets) {
      const value = market.sortValue
      if (value === null || value > last) return found
      found.push(market)
      const { venue, marketId } = market.record
      after = { openTime: market.sortTime, value, venue, marketId }
    }
    if (page.reached !== undefined) {
      const { value } = page.reached
      if (value === null || value === undefined || value > last) return found
      after = page.reached
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
