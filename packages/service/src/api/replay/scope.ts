import { printMicros, toMicros, type Micros, type VenueId } from '@priorbook/sdk/domain'
import { Problem, type MarketSelector } from '@priorbook/sdk/wire'
import { Yielder } from '../../lib/yielder.ts'
import type { MarketState } from '../../store/store.ts'
import { PlanFilter } from '../markets/plan-filter.ts'
import { findReferences, type ReferenceSeries } from '../markets/references.ts'
import { planWindow } from '../pages/notices.ts'
import { findFamily, marketsWithRows } from '../markets/family.ts'
import { findNamedMarket } from '../markets/find.ts'
import { instrumentsOf, type MarketInstrument } from '../markets/instruments.ts'
import type { ApiContext, Grant, Notice } from '../route.ts'
import type { ReplayRequest } from './request.ts'

/** Max markets per replay. */
export const MAX_MARKETS = 4096
/** Max books per replay: each holds a few rows and its position. */
export const MAX_INSTRUMENTS = 4096

// Rows are stored within seconds of their time; a range that ended this long ago gets no more rows.
const SETTLED = 60_000_000
// Larger than any sequence.
const UNBOUNDED = Number.MAX_SAFE_INTEGER

/** One instrument of a replay, limited to the rows that were stored when the replay started. */
export type ReplayStream = {
  readonly instrument: MarketInstrument
  /** The rank among the instruments of the replay, by venue and key; it decides ties in time. */
  readonly index: number
  /** The last sequence that belongs to the replay. */
  readonly last: number
  readonly firstReceived: number
  readonly lastReceived: number
  /** The last trade that belongs to the replay. */
  readonly lastTrade: number
}

/** A series of reference prices of a replay, limited like its instruments. */
export type ReferenceStream = {
  readonly instrument: ReferenceSeries
  /** The rank among the series of the replay, by venue and key. */
  readonly index: number
  readonly last: number
}

/** A market of a replay and the newest revision of its record that belongs to it. */
export type ReplayMarket = {
  readonly venue: VenueId
  readonly marketId: string
  readonly lastRevision: number
}

/** What a replay covers, fixed when it starts. */
export type ReplayScope = {
  readonly start: Micros
  /** Exclusive. */
  readonly end: Micros
  readonly streams: readonly ReplayStream[]
  readonly references: readonly ReferenceStream[]
  readonly markets: readonly ReplayMarket[]
  readonly notices: readonly Notice[]
}

/** Looks up the markets and applies plan and range; throws `Problem` for what cannot be replayed. */
export async function resolveScope(
  context: ApiContext,
  grant: Grant,
  request: ReplayRequest,
): Promise<ReplayScope> {
  const now = context.now()
  if (request.start >= now) {
    throw new Problem('invalid_range', 'the range has not begun yet', {
      param: 'start_time',
      hint: 'A replay sends recorded rows; subscribe to follow new ones.',
    })
  }
  const window = grant.windowStart(now)
  const end = toMicros(Math.min(request.end, now))
  const start = toMicros(Math.min(Math.max(request.start, window), end))
  const plan = new PlanFilter(grant)
  // Before the lists of markets, which take longer.
  const references = await limitReferences(context, grant, request, end)
  const states = await selectMarkets(context, plan, request.selectors, { start, end })
  const instruments: MarketInstrument[] = []
  for (const { record } of states) instruments.push(...(await instrumentsOf(context, record)))
  if (instruments.length > MAX_INSTRUMENTS) {
    throw tooMany(`${MAX_INSTRUMENTS} books`, 'Choose a shorter range or fewer markets')
  }
  instruments.sort((a, b) => compareText(a.venue, b.venue) || compareText(a.key, b.key))
  const yielder = new Yielder()
  const streams: ReplayStream[] = []
  for (const [index, instrument] of instruments.entries()) {
    streams.push(await limitStream(context, request, instrument, index, end, now))
    await yielder.yieldIfDue()
  }
  const markets = states.map(({ record: { venue, marketId }, revision }) => {
    return { venue, marketId, lastRevision: revision }
  })
  markets.sort((a, b) => compareText(a.venue, b.venue) || compareText(a.marketId, b.marketId))
  const notices = noticesOf(context, plan, request, now)
  return { start, end, streams, references, markets, notices }
}

/** Compares by UTF-16 code units, independent of the locale, as the SDK does. */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : +(left > right)
}

function noticesOf(
  context: ApiContext,
  plan: PlanFilter,
  request: ReplayRequest,
  now: Micros,
): readonly Notice[] {
  const notices: Notice[] = context.notice === undefined ? [] : [context.notice]
  const window = plan.grant.windowStart(now)
  if (request.start < window) notices.push(planWindow(plan.grant.plan, window, request.style))
  if (plan.notice !== undefined) notices.push(plan.notice)
  if (request.end > now) {
    notices.push({
      code: 'end_cut',
      message: `The range ends at ${printMicros(now)}, when the replay started; subscribe to follow new rows.`,
    })
  }
  return notices
}

/** The markets that a replay names, each once, in the order of its list; families by open time and id. */
async function selectMarkets(
  context: ApiContext,
  plan: PlanFilter,
  selectors: readonly MarketSelector[],
  range: { readonly start: number; readonly end: number },
): Promise<readonly MarketState[]> {
  const chosen = new Map<string, MarketState>()
  const yielder = new Yielder()
  const add = (state: MarketState): void => {
    const { venue, marketId } = state.record
    const name = `${venue}:${marketId}`
    if (chosen.size === MAX_MARKETS && !chosen.has(name)) {
      throw tooMany(`${MAX_MARKETS} markets`, 'Choose a shorter range or a smaller family')
    }
    chosen.set(name, state)
  }
  // A family that is named again has nothing new.
  const families = new Set<string>()
  for (const selector of selectors) {
    const { venue, market_id: id } = selector
    if (id !== undefined) {
      add(await findNamedMarket(context, plan.grant, venue, id))
      continue
    }
    const text = JSON.stringify(selector)
    if (families.has(text)) continue
    families.add(text)
    const family = await findFamily(context, plan.grant, selector)
    for await (const state of marketsWithRows(context, plan, family, range)) {
      add(state)
      await yielder.yieldIfDue()
    }
  }
  return [...chosen.values()]
}

async function limitStream(
  { store }: ApiContext,
  { datasets }: ReplayRequest,
  instrument: MarketInstrument,
  index: number,
  end: Micros,
  now: Micros,
): Promise<ReplayStream> {
  const { venue, key } = instrument
  const facts = await store.instrument({ venue, key })
  const { firstReceived = Infinity, lastReceived = -1, lastSequence = 0 } = facts ?? {}
  // When a later row is already stored, or enough time has passed, the range gets no more rows.
  const last = lastReceived >= end ? UNBOUNDED : lastSequence
  let lastTrade = UNBOUNDED
  if (datasets.has('trades') && end > now - SETTLED) {
    const { ordinals } = await store.trades({ venue, key, order: 'desc', limit: 1 })
    lastTrade = ordinals[0] ?? 0
  }
  return { instrument, index, last, firstReceived, lastReceived, lastTrade }
}

async function limitReferences(
  context: ApiContext,
  grant: Grant,
  request: ReplayRequest,
  end: Micros,
): Promise<readonly ReferenceStream[]> {
  const chosen = new Map<string, ReferenceSeries>()
  for (const { asset, feed } of request.references) {
    const { series } = await findReferences(context, grant, asset, feed)
    for (const one of series) chosen.set(`${one.venue}:${one.key}`, one)
  }
  return [...chosen.values()]
    .sort((a, b) => compareText(a.venue, b.venue) || compareText(a.key, b.key))
    .map((instrument, index) => {
      const { lastReceived, lastSequence } = instrument.extent
      return { instrument, index, last: lastReceived >= end ? UNBOUNDED : lastSequence }
    })
}

function tooMany(limit: string, hint: string): Problem {
  return new Problem('invalid_parameter', `a replay has at most ${limit}`, {
    param: 'markets',
    hint: `${hint}, or several replays.`,
  })
}
