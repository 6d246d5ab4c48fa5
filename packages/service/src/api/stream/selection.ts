import type { Instrument, MarketRecord, MarketStatus } from '@priorbook/sdk/domain'
import type { MarketSelector } from '@priorbook/sdk/wire'
import { Yielder } from '../../lib/yielder.ts'
import type { MarketState } from '../../store/store.ts'
import { findFamily, marketsOf, toFamily } from '../markets/family.ts'
import { findNamedMarket } from '../markets/find.ts'
import { instrumentsOf } from '../markets/instruments.ts'
import { planAsset } from '../markets/plan-asset.ts'
import type { ApiContext, Grant } from '../route.ts'

/** The markets and instruments that a subscription starts with. */
export type Selection = {
  readonly markets: readonly MarketState[]
  readonly instruments: readonly Instrument[]
  /** Whether a market belongs to the subscription, also one that appears later. */
  readonly wants: (record: MarketRecord) => boolean
}

// Markets that closed longer ago have no new rows; if one does, its instruments join then.
const RECENT_MICROS = 86_400_000_000
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
export async function selectInstruments(
  context: ApiContext,
  grant: Grant,
  selector: MarketSelector,
  known: Iterable<string>,
  most: number,
): Promise<Selection> {
  grant.requireVenue(selector.venue)
  const wants = (record: MarketRecord): boolean =>
    belongs(selector, record) && grant.allows(record.venue, planAsset(record))
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
    for await (const state of marketsOf(context, grant, family, range)) {
      if (!LIVE.has(state.record.status)) continue
      await add(state)
      await yielder.yieldIfDue()
      if (instruments.size > most) break
    }
  }
  const { venue } = selector
  for (const key of known) {
    if (instruments.has(key) || instruments.size > most) continue
    await yielder.yieldIfDue()
    const facts = await context.store.instrument({ venue, key })
    if (facts === undefined) continue
    const state = await context.store.market(venue, facts.instrument.market)
    if (state !== undefined && wants(state.record)) instruments.set(key, facts.instrument)
  }
  return { markets, instruments: [...instruments.values()], wants }
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
