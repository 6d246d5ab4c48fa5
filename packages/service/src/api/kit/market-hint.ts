import { VENUE_IDS, type MarketRecord, type VenueId } from '@priorbook/sdk/domain'
import { VENUE_ADDRESSES, type VenueAddress } from './addresses.ts'
import { marketPath } from './market-path.ts'
import type { ApiContext } from './route.ts'

/** The way to the right identifier for one that names no market; looks up only what is indexed. */
export async function hintFor(
  context: ApiContext,
  address: VenueAddress,
  id: string,
  mayShow: (record: MarketRecord) => boolean,
): Promise<string> {
  const { store } = context
  const { venue } = address
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
  const [inEvent] = (await store.markets({ venue, event: id, limit: 1 })).markets
  if (inEvent !== undefined && mayShow(inEvent.record)) {
    const word = venue === 'venuea' ? 'a topic' : 'an event'
    return `That is the id of ${word}. One of its markets: ${pathOf(inEvent.record)}`
  }
  const [inSeries] = (await store.markets({ venue, series: id, limit: 1 })).markets
  if (inSeries !== undefined && mayShow(inSeries.record)) {
    return `That is a series. Its markets: ${address.markets}?series=${encodeURIComponent(id)}`
  }
  return `${looksLike(venue, id)}${EXPECTED[venue]}`
}

function pathOf({ venue, marketId, asset }: MarketRecord): string {
  return marketPath(venue, marketId, asset)
}

const EXPECTED: Readonly<Record<VenueId, string>> = {
  venuea: `The path takes the market id (digits), found by ${listOf('venuea')}.`,
  venueb: `The path takes the exact market ticker, found by ${listOf('venueb')}?series=….`,
  venuec: `The path takes the condition id (0x and 64 digits), found by ${listOf('venuec')}.`,
}

function listOf(venue: VenueId): string {
  return VENUE_ADDRESSES.find((address) => address.venue === venue)!.markets
}

const SHAPES: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/^0x[0-9a-fA-F]{64}$/, 'That looks like a condition id. '],
  [/^\d{30,}$/, 'That looks like the id of an outcome token. '],
  [/^\d{1,12}$/, 'That looks like a number of the venue’s catalogue. '],
  [/^[a-z0-9]+(-[a-z0-9]+)+$/, 'That looks like a slug. '],
]

const OWN_SHAPE: Readonly<Record<VenueId, RegExp>> = {
  venuea: /^\d{1,12}$/,
  venueb: /^[A-Z0-9][A-Z0-9.-]*$/,
  venuec: /^0x[0-9a-fA-F]{64}$/,
}

function looksLike(venue: VenueId, id: string): string {
  if (OWN_SHAPE[venue].test(id)) return ''
  return SHAPES.find(([pattern]) => pattern.test(id))?.[1] ?? ''
}

// A slug names the start of its round (`btc-updown-5m-1773307200`), so a short range finds it.
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
