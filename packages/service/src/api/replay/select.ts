import type { MarketRecord } from '@priorbook/sdk/domain'
import { Problem, type MarketSelector } from '@priorbook/sdk/wire'
import type { MarketState } from '../../store/store.ts'
import {
  findMarket,
  planAsset,
  VENUE_ADDRESSES,
  type ApiContext,
  type Grant,
} from '../kit/index.ts'
import { Breath } from './breath.ts'
import type { ReplayOrder } from './request.ts'

/** The most markets of one replay. */
export const MOST_MARKETS = 4096

const PAGE = 100
// Books are recorded from the listing of a round, which can be a day before it opens, to its resolution.
const RECORDED_OUTSIDE = 2 * 86_400_000_000

type Range = { readonly start: number; readonly end: number }

/** The markets that a replay names, each once, in the order of its list; families by open time and id. */
export async function selectMarkets(
  context: ApiContext,
  grant: Grant,
  order: ReplayOrder,
  range: Range,
): Promise<readonly MarketState[]> {
  const chosen = new Map<string, MarketState>()
  const breath = new Breath()
  for (const selector of order.selectors) {
    grant.requireVenue(selector.venue)
    for await (const state of marketsOf(context, grant, selector, range)) {
      const { venue, marketId } = state.record
      const name = `${venue}:${marketId}`
      if (chosen.size === MOST_MARKETS && !chosen.has(name)) throw tooMany()
      chosen.set(name, state)
      await breath.take()
    }
  }
  return [...chosen.values()]
}

async function* marketsOf(
  context: ApiContext,
  grant: Grant,
  selector: MarketSelector,
  range: Range,
): AsyncGenerator<MarketState> {
  if (selector.market_id !== undefined) {
    yield await findOne(context, grant, selector, selector.market_id)
    return
  }
  const family = await checkFamily(context, grant, selector)
  const mayShow = (record: MarketRecord): boolean => grant.allows(record.venue, planAsset(record))
  let after: { openTime: number; venue: string; marketId: string } | undefined
  for (;;) {
    const page = await context.store.markets({
      ...family,
      start: range.start - RECORDED_OUTSIDE,
      end: range.end + RECORDED_OUTSIDE,
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    })
    for (const state of page.markets) if (mayShow(state.record)) yield state
    const last = page.markets.at(-1)
    if (!page.hasMore || last === undefined) return
    const { venue, marketId } = last.record
    after = { openTime: last.sortTime, venue, marketId }
  }
}

async function findOne(
  context: ApiContext,
  grant: Grant,
  { venue }: MarketSelector,
  id: string,
): Promise<MarketState> {
  const address = VENUE_ADDRESSES.find((one) => one.venue === venue)!
  try {
    return await findMarket(context, address, { [address.marketParam]: id }, grant)
  } catch (error) {
    // The name of the path parameter is not the one that was sent here.
    if (!(error instanceof Problem) || error.code !== 'unknown_market') throw error
    throw new Problem(error.code, error.message, { ...error.fields, param: 'market_id' })
  }
}

type Family = Pick<MarketSelector, 'venue' | 'series' | 'asset' | 'window'>

async function checkFamily(
  context: ApiContext,
  grant: Grant,
  { venue, series, window, ...more }: MarketSelector,
): Promise<Family> {
  const asset = more.asset?.toUpperCase()
  if (asset !== undefined) grant.requireAsset(venue, asset)
  else if (series !== undefined) {
    grant.requireAsset(venue, planAsset({ venue, marketId: series, seriesTicker: series }))
  }
  const family = {
    venue,
    ...(series === undefined ? {} : { series }),
    ...(asset === undefined ? {} : { asset }),
    ...(window === undefined ? {} : { window }),
  }
  const { markets } = await context.store.markets({ ...family, limit: 1 })
  if (markets.length > 0) return family
  const names = Object.entries(family).map(([name, value]) => `${name} ${value}`)
  const code = asset === undefined || window !== undefined ? 'unknown_market' : 'unknown_asset'
  throw new Problem(code, `no market of ${names.join(', ')} has been recorded`, {
    param: asset !== undefined ? 'asset' : series !== undefined ? 'series' : 'venue',
    hint: 'What is recorded is listed by /v3/markets.',
  })
}

function tooMany(): Problem {
  return new Problem('invalid_parameter', `a replay has at most ${MOST_MARKETS} markets`, {
    param: 'markets',
    hint: 'Take a shorter range or a smaller family, or several replays.',
  })
}
