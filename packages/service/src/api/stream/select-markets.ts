import {
  DAY_MICROS,
  type Instrument,
  type MarketRecord,
  type MarketStatus,
  type VenueId,
} from '@priorbook/sdk/domain'
import type { MarketSelector, StreamMessage } from '@priorbook/sdk/wire'
import { Yielder } from '../../lib/yielder.ts'
import type { MarketState } from '../../store/store.ts'
import { findFamily, marketsOf, toFamily } from '../markets/family.ts'
import { findNamedMarket, planAsset } from '../markets/find.ts'
import { instrumentsOf } from '../markets/instruments.ts'
import { PlanFilter } from '../markets/plan-filter.ts'
import type { ApiContext, Grant, Notice } from '../route.ts'

/** The markets and instruments that a subscription starts with. */
export type Selection = {
  readonly venues: ReadonlySet<VenueId>
  readonly markets: readonly MarketState[]
  readonly instruments: readonly Instrument[]
  /** Instruments that the client knows, of markets that are over. */
  readonly over: readonly Instrument[]
  /** Whether a market belongs to the subscription, also one that appears later. */
  readonly wants: (record: MarketRecord) => boolean
  /** That the plan leaves out markets. */
  readonly notice: Notice | undefined
  /** What the acknowledgement says beside numbers. */
  readonly about: Pick<
    Extract<StreamMessage, { readonly type: 'subscribed' }>,
    'venue' | 'contract'
  >
  /** What to tell the client before an instrument of a market joins; undefined for nothing. */
  readonly newsOf?: (record: MarketRecord) => Promise<StreamMessage | undefined>
}

/** Finds what a client wants to follow; stops soon after more than `most` instruments were found. */
export type FindSelection = (
  context: ApiContext,
  grant: Grant,
  known: Iterable<string>,
  most: number,
) => Promise<Selection>

// Markets that closed longer ago have no new rows; if one does, its instruments join then.
const RECENT_MICROS = DAY_MICROS
const LIVE: ReadonlySet<MarketStatus | undefined> = new Set([
  undefined,
  'scheduled',
  'open',
  'paused',
])

/**
 * Finds what a selector names: one market in any state, or the markets of a family that trade or will
 * trade, and the instruments that the client already knows. Throws `Problem` for unknown markets and
 * those outside the plan. Stops soon after more than `most` instruments were found.
 */
export async function selectMarkets(
  selector: MarketSelector,
  context: ApiContext,
  grant: Grant,
  known: Iterable<string>,
  most: number,
): Promise<Selection> {
  grant.requireVenue(selector.venue)
  const wants = (record: MarketRecord): boolean =>
    belongs(selector, record) && grant.allows(record.venue, planAsset(record))
  const plan = new PlanFilter(grant)
  const yielder = new Yielder()
  const markets: MarketState[] = []
  const instruments = new Map<string, Instrument>()
  const add = async (state: MarketState): Promise<void> => {
    const { record } = state
    markets.push(state)
    for (const { venue, key } of await instrumentsOf(context, record)) {
      instruments.set(key, { venue, market: record.marketId, key })
    }
  }
  if (selector.market_id !== undefined)
    await add(await findNamedMarket(context, grant, selector.venue, selector.market_id))
  else {
    const family = isWholeVenue(selector)
      ? toFamily(grant, selector)
      : await findFamily(context, grant, selector)
    const range = { start: context.now() - RECENT_MICROS }
    for await (const state of marketsOf(context, plan, family, range)) {
      if (!LIVE.has(state.record.status)) continue
      await add(state)
      await yielder.yieldIfDue()
      if (instruments.size > most) break
    }
  }
  const { venue } = selector
  const over: Instrument[] = []
  // A market that is named has all its instruments already.
  for (const key of selector.market_id === undefined ? known : []) {
    if (instruments.has(key) || instruments.size > most) continue
    await yielder.yieldIfDue()
    const facts = await context.store.instrument({ venue, key })
    if (facts === undefined) continue
    const state = await context.store.market(venue, facts.instrument.market)
    if (state === undefined || !wants(state.record)) continue
    if (LIVE.has(state.record.status)) instruments.set(key, facts.instrument)
    else over.push(facts.instrument)
  }
  return {
    venues: new Set([venue]),
    markets,
    instruments: [...instruments.values()],
    over,
    wants,
    notice: plan.notice,
    about: { venue },
  }
}

// Venue ids are validated by the request parser, so a whole-venue subscription is valid even while the
// venue has no markets yet.
function isWholeVenue({ series, asset, window }: MarketSelector): boolean {
  return series === undefined && asset === undefined && window === undefined
}

function belongs(selector: MarketSelector, record: MarketRecord): boolean {
  const { venue, market_id: id, series, asset, window } = selector
  return (
    record.venue === venue &&
    (id === undefined || record.marketId === id) &&
    (series === undefined || record.seriesTicker === series) &&
    (asset === undefined || record.asset?.toUpperCase() === asset.toUpperCase()) &&
    (window === undefined || record.window === window)
  )
}
