import type { Instrument, MarketRecord, MarketStatus } from '@priorbook/sdk/domain'
import { Problem, type MarketSelector } from '@priorbook/sdk/wire'
import { Breath } from '../../lib/breath.ts'
import type { MarketState } from '../../store/store.ts'
import {
  findMarket,
  instrumentsOf,
  planAsset,
  VENUE_ADDRESSES,
  type ApiContext,
  type Grant,
} from '../kit/index.ts'

/** The markets and instruments that a subscription begins with. */
export type Selection = {
  readonly markets: readonly MarketState[]
  readonly instruments: readonly Instrument[]
  /** True for every market that belongs to the subscription, also later ones. */
  readonly wants: (record: MarketRecord) => boolean
}

const PAGE = 500
// Markets that closed longer ago bring no rows; should one do so, its instruments join then.
const RECENT_MICROS = 86_400_000_000
const LIVE: ReadonlySet<MarketStatus | undefined> = new Set([
  undefined,
  'scheduled',
  'open',
  'paused',
])

/**
 * Finds what a selector names: one market whatever its state, or those of a family that trade or will.
 * Instruments that a reader knows from before are taken along. Throws `Problem` for what is not there or
 * not in the plan; `most` bounds the instruments, and one more than that may come out.
 */
export async function select(
  context: ApiContext,
  grant: Grant,
  selector: MarketSelector,
  known: Iterable<string>,
  most: number,
): Promise<Selection> {
  grant.requireVenue(selector.venue)
  const wants = (record: MarketRecord): boolean =>
    belongs(selector, record) && grant.allows(record.venue, planAsset(record))
  const breath = new Breath()
  const markets: MarketState[] = []
  const instruments = new Map<string, Instrument>()
  const take = async (state: MarketState): Promise<void> => {
    const { record } = state
    markets.push(state)
    for (const { venue, key } of await instrumentsOf(context, record)) {
      instruments.set(key, { venue, market: record.marketId, key })
    }
  }
  if (selector.market_id !== undefined) await take(await findOne(context, grant, selector))
  else {
    await checkFamily(context, grant, selector)
    for await (const state of familyOf(context, selector)) {
      if (!LIVE.has(state.record.status) || !wants(state.record)) continue
      await take(state)
      await breath.take()
      if (instruments.size > most) break
    }
  }
  const { venue } = selector
  for (const key of known) {
    if (instruments.has(key) || instruments.size > most) continue
    await breath.take()
    const facts = await context.store.instrument({ venue, key })
    if (facts === undefined) continue
    const state = await context.store.market(venue, facts.instrument.market)
    if (state !== undefined && wants(state.record)) instruments.set(key, facts.instrument)
  }
  return { markets, instruments: [...instruments.values()], wants }
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

async function findOne(
  context: ApiContext,
  grant: Grant,
  { venue, market_id: id }: MarketSelector,
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

async function* familyOf(
  { store, now }: ApiContext,
  selector: MarketSelector,
): AsyncGenerator<MarketState> {
  const family = toQuery(selector)
  let after: { openTime: number; venue: string; marketId: string } | undefined
  for (;;) {
    const page = await store.markets({
      ...family,
      start: now() - RECENT_MICROS,
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    })
    yield* page.markets
    const last = page.markets.at(-1)
    if (!page.hasMore || last === undefined) return
    const { venue, marketId } = last.record
    after = { openTime: last.sortTime, venue, marketId }
  }
}

function toQuery({ venue, series, asset, window }: MarketSelector) {
  return {
    venue,
    ...(series === undefined ? {} : { series }),
    ...(asset === undefined ? {} : { asset: asset.toUpperCase() }),
    ...(window === undefined ? {} : { window }),
  }
}

async function checkFamily(
  { store }: ApiContext,
  grant: Grant,
  selector: MarketSelector,
): Promise<void> {
  const { venue, series, asset, window } = selector
  if (asset !== undefined) grant.requireAsset(venue, asset.toUpperCase())
  else if (series !== undefined) {
    grant.requireAsset(venue, planAsset({ venue, marketId: series, seriesTicker: series }))
  }
  const family = toQuery(selector)
  const { markets } = await store.markets({ ...family, limit: 1 })
  if (markets.length > 0) return
  const names = Object.entries(family).map(([name, value]) => `${name} ${value}`)
  const code = asset === undefined || window !== undefined ? 'unknown_market' : 'unknown_asset'
  throw new Problem(code, `no market of ${names.join(', ')} has been recorded`, {
    param: asset !== undefined ? 'asset' : series !== undefined ? 'series' : 'venue',
    hint: 'What is recorded is listed by /v3/markets.',
  })
}
