import {
  REFERENCE_MARKET,
  parseReferenceKey,
  VENUE_IDS,
  VENUES,
  type Gap,
} from '@priorbook/sdk/domain'
import { Problem, type ReferenceContext } from '@priorbook/sdk/wire'
import { distinctGaps, gapsOfKeys, storeGaps, VENUE_KEY, type TimeSpan } from '../../rows/index.ts'
import type { RowExtent } from '../../store/store.ts'
import type { ApiContext, Grant } from '../route.ts'
import { requireAssetAnywhere } from './plan-filter.ts'

/** A recorded series of reference prices. */
export type ReferenceSeries = ReferenceContext & {
  readonly description: string
  readonly extent: RowExtent
}

/** Every recorded series, in the order in which venues list their feeds, then by asset. */
export async function listReferences({ store }: ApiContext): Promise<ReferenceSeries[]> {
  const found: ReferenceSeries[] = []
  for (const venue of VENUE_IDS) {
    const { references } = VENUES[venue]
    const all = references.length === 0 ? [] : await store.series(venue, REFERENCE_MARKET)
    for (const { feed, unit, description } of references) {
      for (const extent of all) {
        const { key } = extent.instrument
        const reference = parseReferenceKey(key)
        if (reference?.feed !== feed || extent.firstSequence > extent.lastSequence) continue
        found.push({ venue, key, ...reference, unit, description, extent })
      }
    }
  }
  return found
}

/** The series of an asset; there is at least one. */
export type FoundReferences = {
  readonly asset: string
  readonly series: readonly [ReferenceSeries, ...ReferenceSeries[]]
}

/** The series of an asset, of one feed or of all; throws `Problem` where the plan or the tape has none. */
export async function findReferences(
  context: ApiContext,
  grant: Grant,
  name: string,
  feed: string | undefined,
): Promise<FoundReferences> {
  const asset = name.toUpperCase()
  requireAssetAnywhere(grant, undefined, asset)
  const recorded = await listReferences(context)
  const all = recorded.filter((one) => grant.allows(one.venue, one.asset))
  const own = all.filter((one) => one.asset === asset)
  if (own.length === 0) {
    const allowed = [...new Set(all.map((one) => one.asset.toLowerCase()))].sort()
    throw new Problem(
      'unknown_asset',
      `no reference prices of ${JSON.stringify(name)} are recorded`,
      {
        param: 'asset',
        allowed,
        hint:
          allowed.length === 0
            ? 'No reference prices are recorded yet.'
            : `Recorded: ${allowed.join(', ')}.`,
      },
    )
  }
  const [first, ...rest] = own.filter((one) => feed === undefined || one.feed === feed)
  if (first === undefined) {
    const allowed = own.map((one) => one.feed)
    const detail = `no prices of ${asset} are recorded of the feed ${feed}`
    throw new Problem('invalid_parameter', detail, { param: 'feed', allowed })
  }
  return { asset, series: [first, ...rest] }
}

/** The gaps of some series and of their venues that may touch a span. */
export async function gapsOfReferences(
  { store }: ApiContext,
  series: readonly ReferenceSeries[],
  span: TimeSpan,
): Promise<Gap[]> {
  const found: Gap[] = []
  for (const [venue, own] of Map.groupBy(series, (one) => one.venue)) {
    const keys = [...own.map(({ key }) => key), VENUE_KEY]
    found.push(...(await gapsOfKeys(storeGaps(store, venue), keys, span)))
  }
  return distinctGaps(found)
}
