import type { Instrument } from './identity.ts'
import { VENUES, type ReferenceFeed, type VenueId } from './venues/index.ts'

/**
 * A series of reference prices: what one feed of a venue says an asset is worth. It is stored like the
 * samples of a market, under a name that no market has.
 */
export type Reference = { readonly feed: string; readonly asset: string }

/** The name in place of a market: no venue's market id is like it. */
export const REFERENCE_MARKET = 'reference'

/** The metric of the samples. */
export const REFERENCE_METRIC = 'price'

const KEY = /^reference\/([a-z][a-z0-9_]{0,31})\/([A-Z0-9]{1,16})$/

/** The instrument of a series, whose key is `reference/FEED/ASSET`. */
export function referenceInstrument(venue: VenueId, { feed, asset }: Reference): Instrument {
  return { venue, market: REFERENCE_MARKET, key: `${REFERENCE_MARKET}/${feed}/${asset}` }
}

/** The series that a key names; undefined for keys of markets. */
export function parseReferenceKey(key: string): Reference | undefined {
  const [, feed, asset] = KEY.exec(key) ?? []
  return feed === undefined || asset === undefined ? undefined : { feed, asset }
}

/** The feed that a round settles on; undefined where the venue has none, or does not say it for such rounds. */
export function settlementFeed(
  venue: VenueId,
  round: { readonly window: string; readonly open: number },
): ReferenceFeed | undefined {
  return VENUES[venue].references.find(({ settles }) => {
    if (settles === undefined) return false
    const { windows, from = 0, until = Infinity } = settles
    const isMeant = windows === undefined || windows.includes(round.window)
    return isMeant && round.open >= from && round.open < until
  })
}
