import {
  deriveTerms,
  printContractId,
  type ContractKind,
  type ContractSubject,
} from '@priorbook/sdk/domain'
import type { ContractStatus } from '@priorbook/sdk/wire'
import { Yielder, yieldToEventLoop } from '../../lib/yielder.ts'
import type { ListedFacts, MarketQuery, MarketState } from '../../store/store.ts'
import type { PlanFilter } from '../markets/plan-filter.ts'
import type { Page } from '../pages/page.ts'
import type { ApiContext, CursorState } from '../route.ts'
import { candidatesOf, namedCloses } from './candidates.ts'
import {
  isAbout,
  joinContract,
  operatorOf,
  readContract,
  readTitled,
  seenBy,
  type FoundContract,
  type SeenContract,
} from './find.ts'
import { statusOf, windowOf } from './to-json.ts'

/** Which contracts to list. */
export type ContractFilters = {
  readonly text: string | undefined
  readonly kind: ContractKind | undefined
  readonly status: ContractStatus | undefined
  readonly asset: string | undefined
  readonly window: string | undefined
  readonly members: number
}

/** A page of contracts, and whether the walk stopped before the page was full. */
export type WalkedContracts = {
  readonly contracts: readonly SeenContract[]
  readonly hasMore: boolean
  readonly next: CursorState | undefined
}

// Max markets per read of the store, and per request: a walk that finds little goes on by cursor.
const SLICE = 200
const MAX_VISITED = 1000

// A list goes from the present into the future, or begins with the newest.
function isAscending(status: ContractStatus | undefined): boolean {
  return status === 'open' || status === 'scheduled'
}

/**
 * Walks the catalogue by close time, makes contracts of the markets that close together, and collects those
 * that match. The operator's own contracts are merged in by their close time.
 */
export async function walkContracts(
  context: ApiContext,
  filters: ContractFilters,
  page: Page,
  plan: PlanFilter,
): Promise<WalkedContracts> {
  const now = context.now()
  const isUp = isAscending(filters.status)
  const position = placeOf(page)
  const named = await namedContracts(context, filters, page)
  const found: { readonly seen: SeenContract; readonly place: Place }[] = []
  const take = (contract: FoundContract, closes: number): boolean => {
    const place = { closes, id: contract.id }
    if (position !== undefined && !isBeyond(place, position, isUp)) return false
    const seen = seenBy(contract, plan.grant)
    for (const { state } of contract.members) plan.includes(state.record)
    const isWanted =
      seen.members.length > 0 &&
      contract.members.length >= filters.members &&
      (filters.status === undefined || statusOf(contract, now) === filters.status)
    if (isWanted) found.push({ seen, place })
    return found.length > page.limit
  }
  const groups = new CloseGroups(context, filters, page, plan)
  for (;;) {
    const group = await groups.next()
    const until = group?.closes
    const both = [
      ...named.filter(({ closes }) => until === undefined || !isAfter(closes, until, isUp)),
      ...(group === undefined ? [] : await contractsOf(context, filters, group)),
    ]
    named.splice(0, named.length, ...named.filter((one) => !both.includes(one)))
    for (const { contract, closes } of both.sort((a, b) => compare(a, b, isUp))) {
      if (take(contract, closes)) {
        const served = found.slice(0, page.limit)
        const contracts = served.map(({ seen }) => seen)
        return { contracts, hasMore: true, next: toState(served.at(-1)!.place) }
      }
    }
    const contracts = found.map(({ seen }) => seen)
    if (group === undefined) return { contracts, hasMore: false, next: undefined }
    if (groups.visited >= MAX_VISITED) {
      // Everything that closes with the last group was looked at.
      const next = toState({ closes: group.closes, id: isUp ? LAST_ID : '' })
      return { contracts, hasMore: true, next }
    }
  }
}

/** The position of a walk: contracts by the time at which they close, then by id. */
type Place = { readonly closes: number; readonly id: string }

type Placed = { readonly contract: FoundContract; readonly closes: number }

// Sorts after every id.
const LAST_ID = '~'

function compare(a: Placed, b: Placed, isUp: boolean): number {
  const order = a.closes - b.closes || (a.contract.id < b.contract.id ? -1 : 1)
  return isUp ? order : -order
}

function isBeyond(place: Place, position: Place, isUp: boolean): boolean {
  if (place.closes !== position.closes) return isAfter(place.closes, position.closes, isUp)
  return isUp ? place.id > position.id : place.id < position.id
}

function isAfter(closes: number, other: number, isUp: boolean): boolean {
  return isUp ? closes > other : closes < other
}

function toState({ closes, id }: Place): CursorState {
  return { closes, id }
}

function placeOf({ state: { closes, id } }: Page): Place | undefined {
  return id === undefined ? undefined : { closes: closes as number, id: id as string }
}

/** Markets that close at one time. */
type CloseGroup = { readonly closes: number; readonly markets: readonly MarketState[] }

/** Reads the catalogue by close time, all markets of a time together. */
class CloseGroups {
  visited = 0
  readonly #context: ApiContext
  readonly #query: Omit<MarketQuery, 'after' | 'limit'>
  readonly #from: number
  readonly #end: number
  readonly #choose: NonNullable<MarketQuery['choose']>
  readonly #firstRead: number
  #after: MarketQuery['after']
  // Without a state where no contract of the list can have the market.
  #waiting: { state: MarketState | undefined; closes: number }[] = []
  // Those before it were given out.
  #at = 0
  #isDone: boolean

  constructor(context: ApiContext, filters: ContractFilters, page: Page, plan: PlanFilter) {
    const { text, asset, window, kind, status, members } = filters
    const now = context.now()
    const isUp = isAscending(status)
    // A search finds single members, and what a plan leaves out only the contracts tell.
    const isAll = text !== undefined || !plan.includesAll
    const named = namedCloses(operatorOf(context))
    this.#choose = (listed) => (isAll ? listed : candidatesOf(listed, members, named))
    // One market of each contract, and the one after the last.
    const least = Math.min(SLICE, page.limit + 2)
    this.#firstRead = text === undefined && members <= 1 ? least : SLICE
    this.#context = context
    this.#from = Math.max(page.from, isUp ? now : 0)
    this.#end = status === 'closed' ? Math.min(page.end, now + 1) : page.end
    this.#query = {
      text,
      asset,
      window,
      hasAsset: true,
      sort: 'close_time',
      order: isUp ? 'asc' : 'desc',
    }
    const place = placeOf(page)
    const begin = place?.closes ?? (isUp ? this.#from : this.#end - 1)
    // No venue's id is empty, and none sorts after this letter: the list begins at the time itself, or after it
    // where everything of the time was looked at.
    const isPassed = place?.id === LAST_ID || place?.id === ''
    const venue = isUp === isPassed ? LAST_ID : ''
    this.#after = { openTime: 0, value: begin, venue, marketId: '' }
    this.#isDone = kind === 'event'
  }

  /** The next time at which markets close; undefined at the end. */
  async next(): Promise<CloseGroup | undefined> {
    for (;;) {
      const group = this.#shift()
      if (group !== undefined) {
        if (group.closes >= this.#from && group.closes < this.#end) return group
        this.#isDone = true
        this.#at = this.#waiting.length
      }
      if (this.#isDone && this.#at === this.#waiting.length) return undefined
      await this.#read()
    }
  }

  // The first group, if no market of it can follow.
  #shift(): CloseGroup | undefined {
    const closes = this.#waiting[this.#at]?.closes
    if (closes === undefined) return undefined
    let end = this.#at
    while (this.#waiting[end]?.closes === closes) end++
    if (end === this.#waiting.length && !this.#isDone) return undefined
    const markets: MarketState[] = []
    for (; this.#at < end; this.#at++) {
      const { state } = this.#waiting[this.#at]!
      if (state !== undefined) markets.push(state)
    }
    return { closes, markets }
  }

  // The second read takes the rest of a slice.
  get #limit(): number {
    if (this.visited < this.#firstRead) return this.#firstRead
    return this.visited < SLICE ? SLICE - this.visited : SLICE
  }

  async #read(): Promise<void> {
    let listed: readonly ListedFacts[] = []
    const choose = (all: readonly ListedFacts[]) => this.#choose((listed = all))
    const query = { ...this.#query, after: this.#after, limit: this.#limit, choose }
    const { markets, hasMore, reached } = await this.#context.store.markets(query)
    this.#waiting = this.#waiting.slice(this.#at)
    this.#at = 0
    let next = 0
    for (const { venue, marketId, sortTime, sortValue } of listed) {
      this.#after = { openTime: sortTime, venue, marketId, value: sortValue }
      const own = markets[next]
      const isRead = own?.record.marketId === marketId && own.record.venue === venue
      if (isRead) next++
      // Markets without a close time come last.
      if (sortValue === null) this.#isDone = true
      else this.#waiting.push({ state: isRead ? own : undefined, closes: sortValue })
    }
    this.#after = reached ?? this.#after
    this.visited += Math.max(listed.length, 1)
    this.#isDone ||= !hasMore
    await yieldToEventLoop()
  }
}

// The contracts of a group. A search finds single members, and markets without an asset are not in the
// list: then the other members are looked up.
async function contractsOf(
  context: ApiContext,
  { kind, text, window }: ContractFilters,
  { closes, markets }: CloseGroup,
): Promise<readonly Placed[]> {
  const { store } = context
  const operator = operatorOf(context)
  const groups = new Map<string, { subject: ContractSubject; markets: MarketState[] }>()
  for (const state of markets) {
    const derived = deriveTerms(state.record)
    if (derived === undefined || (kind !== undefined && derived.subject.kind !== kind)) continue
    const id = printContractId(derived.subject)
    const group = groups.get(id)
    if (group === undefined) groups.set(id, { subject: derived.subject, markets: [state] })
    else group.markets.push(state)
  }
  const placed: Placed[] = []
  const titled = new Map<string, readonly MarketState[]>()
  const yielder = new Yielder()
  for (const [id, { subject, markets: own }] of groups) {
    await yielder.yieldIfDue()
    const { asset } = subject
    const isWhole = text === undefined && (subject.kind === 'up_down' || window === undefined)
    if (isWhole && subject.kind !== 'up_down' && !titled.has(asset)) {
      titled.set(asset, await readTitled(store, asset, closes))
    }
    const others = subject.kind === 'up_down' ? [] : (titled.get(asset) ?? [])
    const contract = isWhole
      ? await joinContract(store, operator, {
          id,
          subject,
          markets: [...own, ...others.filter((state) => isAbout(state, id))],
        })
      : await readContract(store, operator, id)
    if (contract !== undefined) placed.push({ contract, closes })
  }
  return placed
}

// The contracts that only the operator's file names, in the range of the page.
async function namedContracts(
  context: ApiContext,
  { kind, text, asset, window }: ContractFilters,
  { from, end }: Page,
): Promise<Placed[]> {
  const operator = operatorOf(context)
  if ((kind ?? 'event') !== 'event' || asset !== undefined || window !== undefined) return []
  const placed: Placed[] = []
  const words = text?.toLowerCase().split(/\s+/) ?? []
  for (const id of operator.named.keys()) {
    if (!id.startsWith('x-')) continue
    const contract = await readContract(context.store, operator, id)
    const closes = contract === undefined ? undefined : windowOf(contract).closes
    if (contract === undefined || closes === undefined || closes < from || closes >= end) continue
    const titles = [id, contract.title, ...contract.members.map(({ state }) => state.record.title)]
    const all = titles.join(' ').toLowerCase()
    if (words.every((word) => all.includes(word))) placed.push({ contract, closes })
  }
  return placed
}
