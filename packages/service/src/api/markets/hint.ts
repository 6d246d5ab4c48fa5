import { VENUE_IDS, VENUES, type MarketRecord, type VenueId } from '@priorbook/sdk/domain'
import type { ApiContext } from '../route.ts'
import { marketPath } from './addresses.ts'

/**
 * A hint for an identifier that names no market: the market that was probably meant, or what the path
 * takes. Uses indexed look-ups only.
 */
export async function hintFor(
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
    return `That is the id of ${groupWord}. One of its markets: ${pathOf(inEvent.record)}`
  }
  const [inSeries] = (await store.markets({ venue, series: id, limit: 1 })).markets
  if (inSeries !== undefined && mayShow(inSeries.record)) {
    return `That is a series. Its markets: ${paths.markets}?series=${encodeURIComponent(id)}`
  }
  return `${looksLike(venue, id)}${expected(venue)}`
}

function pathOf({ venue, marketId, asset }: MarketRecord): string {
  return marketPath(venue, marketId, asset)
}

function expected(venue: VenueId): string {
  const { paths, familyKey } = VENUES[venue]
  const list = familyKey === 'series' ? `${paths.markets}?series=…` : paths.markets
  return `The path takes ${paths.idHint}, found by ${list}.`
}

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
