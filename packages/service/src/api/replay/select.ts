import { Problem, type MarketSelector } from '@priorbook/sdk/wire'
import type { MarketState } from '../../store/store.ts'
import { findFamily, marketsOf } from '../markets/family.ts'
import { findNamedMarket } from '../markets/find.ts'
import type { ApiContext, Grant } from '../route.ts'
import { Yielder } from '../../lib/yielder.ts'

/** The most markets of one replay. */
export const MOST_MARKETS = 4096

// Books are recorded from the listing of a round, which can be a day before it opens, to its resolution.
const RECORDED_OUTSIDE = 2 * 86_400_000_000

type Range = { readonly start: number; readonly end: number }

/** The markets that a replay names, each once, in the order of its list; families by open time and id. */
export async function selectMarkets(
  context: ApiContext,
  grant: Grant,
  selectors: readonly MarketSelector[],
  range: Range,
): Promise<readonly MarketState[]> {
  const chosen = new Map<string, MarketState>()
  const yielder = new Yielder()
  for (const selector of selectors) {
    for await (const state of marketsIn(context, grant, selector, range)) {
      const { venue, marketId } = state.record
      const name = `${venue}:${marketId}`
      if (chosen.size === MOST_MARKETS && !chosen.has(name)) throw tooMany()
      chosen.set(name, state)
      await yielder.yieldIfDue()
    }
  }
  return [...chosen.values()]
}

async function* marketsIn(
  context: ApiContext,
  grant: Grant,
  selector: MarketSelector,
  range: Range,
): AsyncGenerator<MarketState> {
  const { venue, market_id: id } = selector
  if (id !== undefined) {
    yield await findNamedMarket(context, grant, venue, id)
    return
  }
  const family = await findFamily(context, grant, selector)
  yield* marketsOf(context, grant, family, {
    start: range.start - RECORDED_OUTSIDE,
    end: range.end + RECORDED_OUTSIDE,
  })
}

function tooMany(): Problem {
  return new Problem('invalid_parameter', `a replay has at most ${MOST_MARKETS} markets`, {
    param: 'markets',
    hint: 'Take a shorter range or a smaller family, or several replays.',
  })
}
