import { VENUES, VENUE_IDS, type MarketRecord, type VenueId } from '@priorbook/sdk/domain'
import { eventAddress, Problem, timeJson } from '@priorbook/sdk/wire'
import { REMOVED_MARKETS, type MarketState } from '../../store/store.ts'
import type { ApiContext, Grant } from '../route.ts'
import { addressOf, marketPath, type VenueAddress } from './addresses.ts'

/**
 * Finds the market that a path names, in its newest version. The plan is checked first, so that a key
 * learns nothing of markets that it may not see; a wrong kind of identifier then gets a hint that names
 * the right one. `read` may come from a cache.
 */
export function findMarket(
  context: ApiContext,
  address: VenueAddress,
  path: Readonly<Record<string, string | undefined>>,
  grant?: Grant,
  read: ReadMarket = (venue, id) => context.store.market(venue, id),
): MarketState | Promise<MarketState> {
  const { venue } = address
  const asked: AskedMarket = {
    venue,
    id: path[address.marketParam] ?? '',
    param: address.marketParam,
    asset: address.hasAsset ? path['asset']?.toUpperCase() : undefined,
    grant,
  }
  const { id, asset } = asked
  grant?.requireVenue(venue)
  if (asset !== undefined) grant?.requireAsset(venue, asset)
  const state = read(venue, id)
  return state instanceof Promise
    ? state.then((one) => requireMarket(context, asked, one))
    : requireMarket(context, asked, state)
}

type ReadMarket = (
  venue: VenueId,
  id: string,
) => MarketState | undefined | Promise<MarketState | undefined>

type AskedMarket = {
  readonly venue: VenueId
  readonly id: string
  /** The parameter that names it. */
  readonly param: string
  readonly asset: string | undefined
  readonly grant: Grant | undefined
}

// At once where there is such a market; a hint takes reads.
function requireMarket(
  context: ApiContext,
  asked: AskedMarket,
  state: MarketState | undefined,
): MarketState | Promise<never> {
  if (state === undefined) return refuseMarket(context, asked)
  const { venue, id, asset, grant } = asked
  grant?.requireAsset(venue, planAsset(state.record))
  const own = state.record.asset
  if (asset !== undefined && own !== undefined && own.toUpperCase() !== asset) {
    throw new Problem('unknown_market', `market ${show(id)} is not one of ${asset}`, {
      param: 'asset',
      hint: `Its asset is ${own}: ${marketPath(venue, id, own)}`,
    })
  }
  return state
}

async function refuseMarket(
  context: ApiContext,
  { venue, id, param, asset, grant }: AskedMarket,
): Promise<never> {
  if (asset !== undefined) await requireRecordedAsset(context, venue, asset)
  throw new Problem('unknown_market', `no market ${show(id)} of this venue is recorded`, {
    param,
    hint: await hintFor(
      context,
      venue,
      id,
      (record) => grant?.allows(record.venue, planAsset(record)) ?? true,
    ),
  })
}

/** Finds the market that a parameter `market_id` names; throws `Problem` with a hint if there is none. */
export async function findNamedMarket(
  context: ApiContext,
  grant: Grant,
  venue: VenueId,
  id: string,
): Promise<MarketState> {
  const address = addressOf(venue)
  try {
    return await findMarket(context, address, { [address.marketParam]: id }, grant)
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'unknown_market') throw error
    // The problem names the parameter that was sent, not the one in the path of the market.
    throw new Problem(error.code, error.message, { ...error.fields, param: 'market_id' })
  }
}

/** Finds a market by its id alone or with its venue, for routes that are not below a market's path. */
export async function findAnywhere(
  context: ApiContext,
  grant: Grant,
  id: string,
  venue: VenueId | undefined,
): Promise<MarketState> {
  const venues = venuesOf(grant, venue)
  const hints: string[] = []
  for (const one of venues) {
    const address = addressOf(one)
    try {
      return await findMarket(context, address, { [address.marketParam]: id }, grant)
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'unknown_market') throw error
      if (error.fields.hint !== undefined) hints.push(error.fields.hint)
    }
  }
  for (const hidden of VENUE_IDS) {
    if (venues.includes(hidden)) continue
    if ((await context.store.market(hidden, id)) !== undefined) grant.requireVenue(hidden)
  }
  // What the id is at one venue says more than what another venue takes instead.
  const hint = hints.find((one) => !one.includes(EXPECTED)) ?? hintAnywhere(id, venue, hints)
  throw new Problem('unknown_market', `no market ${show(id)} is recorded`, {
    param: 'market',
    ...(hint === undefined ? {} : { hint }),
  })
}

function hintAnywhere(
  id: string,
  venue: VenueId | undefined,
  [first]: readonly string[],
): string | undefined {
  const named = VENUE_IDS.find((one) => id.startsWith(`${one}:`))
  if (named !== undefined) {
    return `Send the venue apart: venue=${named}&market=${encodeURIComponent(id.slice(named.length + 1))}.`
  }
  return venue === undefined ? 'It is the id that the venue gives; /v3/markets lists them.' : first
}

/** The venues that a request is about: the one that it names, else those that the plan includes. */
export function venuesOf(grant: Grant, venue: VenueId | undefined): readonly VenueId[] {
  return venue === undefined ? VENUE_IDS.filter((one) => sees(grant, one)) : [venue]
}

/** True when a plan includes anything of a venue; btc is in every plan. */
export function sees(grant: Grant, venue: VenueId): boolean {
  return grant.allows(venue, undefined) || grant.allows(venue, 'btc')
}

/** Throws `unknown_asset`, naming the recorded ones, when a venue has no market of an asset. */
export async function requireRecordedAsset(
  { store }: ApiContext,
  venue: VenueId,
  asset: string,
): Promise<void> {
  const { markets } = await store.markets({ venue, asset: asset.toUpperCase(), limit: 1 })
  if (markets.length > 0) return
  const newest = await store.markets({ venue, order: 'desc', limit: NEWEST })
  const names = newest.markets.flatMap(({ record }) => record.asset?.toLowerCase() ?? [])
  const allowed = [...new Set(names)].sort()
  throw new Problem('unknown_asset', `no markets of ${show(asset)} are recorded`, {
    param: 'asset',
    allowed,
    hint:
      allowed.length === 0
        ? 'No market of a known asset is recorded yet.'
        : `Recorded: ${allowed.join(', ')}.`,
  })
}

// Rounds of every asset open all the time, so the newest markets name all assets.
const NEWEST = 500

function show(text: string): string {
  return JSON.stringify(text.slice(0, 100))
}

/** The asset that plans are checked against: that of the record, or the coin named by its ticker. */
export function planAsset(
  record: Pick<MarketRecord, 'venue' | 'marketId' | 'asset' | 'seriesTicker'>,
): string | undefined {
  if (record.asset !== undefined) return record.asset
  return VENUES[record.venue].assetInTicker?.exec(record.seriesTicker ?? record.marketId)?.[1]
}

/**
 * A hint for an identifier that names no market: the market that was probably meant, or what the path
 * takes. Uses indexed look-ups only.
 */
async function hintFor(
  context: ApiContext,
  venue: VenueId,
  id: string,
  mayShow: (record: MarketRecord) => boolean,
): Promise<string> {
  const { store } = context
  const find = async (where: VenueId, name: string): Promise<MarketRecord | undefined> => {
    const record = (await store.market(where, name))?.record
    return record !== undefined && mayShow(record) ? record : undefined
  }
  for (const spelling of [id.toUpperCase(), id.toLowerCase()]) {
    const record = spelling === id ? undefined : await find(venue, spelling)
    if (record !== undefined) return `Identifiers are case-sensitive: ${pathOf(record)}`
  }
  for (const other of VENUE_IDS) {
    const record = other === venue ? undefined : await find(other, id)
    if (record !== undefined) return `It is a market of another venue: ${pathOf(record)}`
  }
  const token = await store.instrument({ venue, key: id })
  const owner = token === undefined ? undefined : await find(venue, token.instrument.market)
  if (owner !== undefined) return `That is the id of a token. Its market: ${pathOf(owner)}`
  const bySlug = await findSlug(context, venue, id)
  if (bySlug !== undefined && mayShow(bySlug)) {
    return `That is a slug. Its market: ${pathOf(bySlug)}`
  }
  const { groupWord, paths } = VENUES[venue]
  const [inEvent] = (await store.markets({ venue, event: id, limit: 1 })).markets
  if (inEvent !== undefined && mayShow(inEvent.record)) {
    const address = eventAddress(venue, id)
    return `That is the id of ${groupWord}: ${address}. One of its markets: ${pathOf(inEvent.record)}`
  }
  const [inSeries] = (await store.markets({ venue, series: id, limit: 1 })).markets
  if (inSeries !== undefined && mayShow(inSeries.record)) {
    return `That is a series. Its markets: ${paths.markets}?series=${encodeURIComponent(id)}`
  }
  const before = await store.fact(REMOVED_MARKETS.before(venue))
  const removed =
    before === undefined
      ? ''
      : ` Records of markets that ended before ${timeJson(before, {})} were removed.`
  return `${looksLike(venue, id)}${expected(venue)}${removed}`
}

function pathOf({ venue, marketId, asset }: MarketRecord): string {
  return marketPath(venue, marketId, asset)
}

function expected(venue: VenueId): string {
  const { paths, familyKey } = VENUES[venue]
  const plain = paths.plain?.markets ?? paths.markets
  const list = familyKey === 'series' ? `${paths.markets}?series=…` : plain
  return `${EXPECTED} ${paths.idHint}, found by ${list}.`
}

const EXPECTED = 'The path takes'

const SHAPES: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/^0x[0-9a-fA-F]{64}$/, 'That looks like a condition id. '],
  [/^\d{30,}$/, 'That looks like the id of an outcome token. '],
  [/^\d{1,12}$/, 'That looks like a number of the venue’s catalogue. '],
  [/^[a-z0-9]+(-[a-z0-9]+)+$/, 'That looks like a slug. '],
]

function looksLike(venue: VenueId, id: string): string {
  if (VENUES[venue].paths.idPattern.test(id)) return ''
  return SHAPES.find(([pattern]) => pattern.test(id))?.[1] ?? ''
}

// A slug ends with the start of its round (`btc-updown-5m-1773307200`), so a short range finds it.
async function findSlug(
  { store }: ApiContext,
  venue: VenueId,
  id: string,
): Promise<MarketRecord | undefined> {
  const [, asset, seconds] = /^([a-z0-9]{2,12})-[a-z0-9-]*?(\d{9,10})$/.exec(id) ?? []
  if (asset === undefined) return undefined
  const start = Number(seconds) * 1e6
  const query = { venue, asset: asset.toUpperCase(), start, end: start + 1, limit: 50 }
  const { markets } = await store.markets(query)
  return markets.find(({ record }) => record.slug === id)?.record
}
