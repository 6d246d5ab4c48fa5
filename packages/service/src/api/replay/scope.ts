import { printMicros, toMicros, type Micros, type VenueId } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import type { MarketState } from '../../store/store.ts'
import { planWindow } from '../books/notices.ts'
import { instrumentsOf, type MarketInstrument } from '../markets/instruments.ts'
import type { ApiContext, Grant, Notice } from '../route.ts'
import { Yielder } from '../../lib/yielder.ts'
import type { ReplayOrder } from './request.ts'
import { selectMarkets } from './select.ts'

/** The most ladder streams of one replay: each holds a few rows and its place. */
export const MOST_INSTRUMENTS = 4096

// Rows of a moment are stored within seconds of it; what is older than this gets no rows any more.
const SETTLED = 60_000_000

/** One ladder stream of a replay, with the rows that were known when the replay began. */
export type ReplayStream = {
  readonly instrument: MarketInstrument
  /** The place among the instruments of the replay, by venue and key: it decides where times tie. */
  readonly index: number
  /** The last sequence that belongs to the replay, and when the first and the last row were received. */
  readonly last: number
  readonly firstReceived: number
  readonly lastReceived: number
  /** The last trade that belongs to the replay. */
  readonly lastTrade: number
}

/** A market of a replay and the newest revision of its record that belongs to it. */
export type ReplayMarket = {
  readonly venue: VenueId
  readonly marketId: string
  readonly lastRevision: number
}

/** What a replay goes over, pinned when it began. */
export type ReplayScope = {
  readonly start: Micros
  /** Exclusive. */
  readonly end: Micros
  readonly streams: readonly ReplayStream[]
  readonly markets: readonly ReplayMarket[]
  readonly notices: readonly Notice[]
}

// Larger than any sequence.
const UNBOUNDED = Number.MAX_SAFE_INTEGER

/** Looks up markets, plan and range; throws `Problem` for what cannot be replayed. */
export async function resolveScope(
  context: ApiContext,
  grant: Grant,
  order: ReplayOrder,
): Promise<ReplayScope> {
  const now = context.now()
  if (order.start >= now) {
    throw new Problem('invalid_range', 'the range has not begun yet', {
      param: 'start_time',
      hint: 'A replay shows what was recorded; subscribe to follow what comes.',
    })
  }
  const window = grant.windowStart(now)
  const end = toMicros(Math.min(order.end, now))
  const start = toMicros(Math.min(Math.max(order.start, window), end))
  const notices: Notice[] = context.notice === undefined ? [] : [context.notice]
  if (order.start < window) notices.push(planWindow(grant.plan, window, order.style))
  if (order.end > now) {
    notices.push({
      code: 'end_cut',
      message: `The range ends at ${printMicros(now)}, when the replay began; subscribe to follow what comes.`,
    })
  }
  const states = await selectMarkets(context, grant, order.selectors, { start, end })
  const instruments: MarketInstrument[] = []
  for (const { record } of states) instruments.push(...(await instrumentsOf(context, record)))
  if (instruments.length > MOST_INSTRUMENTS) throw tooMany()
  instruments.sort((a, b) => compareText(a.venue, b.venue) || compareText(a.key, b.key))
  const yielder = new Yielder()
  const streams: ReplayStream[] = []
  for (const [index, instrument] of instruments.entries()) {
    streams.push(await pinStream(context, order, instrument, index, end, now))
    await yielder.yieldIfDue()
  }
  const markets = states.map(toMarket)
  markets.sort((a, b) => compareText(a.venue, b.venue) || compareText(a.marketId, b.marketId))
  return { start, end, streams, markets, notices }
}

/** Compares by code units, the same everywhere and as the SDK does. */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : +(left > right)
}

async function pinStream(
  { store }: ApiContext,
  { datasets }: ReplayOrder,
  instrument: MarketInstrument,
  index: number,
  end: Micros,
  now: Micros,
): Promise<ReplayStream> {
  const { venue, key } = instrument
  const facts = await store.instrument({ venue, key })
  const { firstReceived = Infinity, lastReceived = -1, lastSequence = 0 } = facts ?? {}
  // Where a later row is stored, or enough time has passed, no other row can come into the range.
  const last = lastReceived >= end ? UNBOUNDED : lastSequence
  let lastTrade = UNBOUNDED
  if (datasets.has('trades') && end > now - SETTLED) {
    const { ordinals } = await store.trades({ venue, key, order: 'desc', limit: 1 })
    lastTrade = ordinals[0] ?? 0
  }
  return { instrument, index, last, firstReceived, lastReceived, lastTrade }
}

function toMarket({ record, revision }: MarketState): ReplayMarket {
  return { venue: record.venue, marketId: record.marketId, lastRevision: revision }
}

function tooMany(): Problem {
  return new Problem('invalid_parameter', `a replay has at most ${MOST_INSTRUMENTS} books`, {
    param: 'markets',
    hint: 'Take a shorter range or fewer markets, or several replays.',
  })
}
