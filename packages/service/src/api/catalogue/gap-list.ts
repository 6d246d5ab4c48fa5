import type { Gap, VenueId } from '@priorbook/sdk/domain'
import type { GapQuery, StoreReader } from '../../store/store.ts'
import type { CursorState, ApiContext, Grant } from '../route.ts'
import { planAsset } from '../markets/plan-asset.ts'
import { sees } from '../markets/find.ts'

/** Gaps by (start, last good sequence, venue, key, reason, scope): a place in that order. */
export type GapPlace = readonly [number, number, string, string, string, string]

/** The place of a gap. */
export function placeOfGap(gap: Gap): GapPlace {
  return [gap.start, gap.afterSequence, gap.venue, gap.key, gap.reason, gap.scope]
}

/** The order of the list. */
export function compareGaps(a: GapPlace, b: GapPlace): number {
  for (const [index, value] of a.entries()) {
    const other = b[index]!
    if (value !== other) return value < other ? -1 : 1
  }
  return 0
}

/** What a cursor keeps of the last gap given. */
export function gapState(gap: Gap): CursorState {
  const [start, sequence, venue, key, reason, scope] = placeOfGap(gap)
  return { start, sequence, venue, key, reason, scope }
}

/** Reads it back; undefined on the first page. */
export function placeInState(state: CursorState): GapPlace | undefined {
  const { start, sequence, venue, key, reason, scope } = state
  if (start === undefined) return undefined
  return [start, sequence, venue, key, reason, scope] as GapPlace
}

/** The gaps after a place that are wanted, at most `limit + 1`, read page by page. */
export async function gapsAfter(
  store: StoreReader,
  query: GapQuery,
  place: GapPlace | undefined,
  limit: number,
  isWanted: (gap: Gap) => Promise<boolean>,
): Promise<Gap[]> {
  const found: Gap[] = []
  let after = place === undefined ? undefined : toAfter(place)
  for (;;) {
    const page = { ...query, ...(after === undefined ? {} : { after }), limit: limit + 1 }
    const gaps = await store.gaps(page)
    for (const gap of gaps) {
      if (await isWanted(gap)) found.push(gap)
      if (found.length > limit) return found
    }
    if (gaps.length <= limit) return found
    after = gaps.at(-1)!
  }
}

function toAfter(place: GapPlace): NonNullable<GapQuery['after']> {
  const [start, afterSequence, venue, key, reason, scope] = place
  return { start, afterSequence, venue, key, reason, scope } as NonNullable<GapQuery['after']>
}

/** Sorts gaps as the list has them. */
export function sorted(gaps: readonly Gap[]): Gap[] {
  return gaps.toSorted((a, b) => compareGaps(placeOfGap(a), placeOfGap(b)))
}

/** Tells which gaps a plan may show: those of its venues, and of its assets where it has not all. */
export function gapFilter({ store }: ApiContext, grant: Grant): (gap: Gap) => Promise<boolean> {
  const known = new Map<string, boolean>()
  const isShown = async (venue: VenueId, key: string): Promise<boolean> => {
    if (grant.allows(venue, undefined)) return true
    if (!sees(grant, venue)) return false
    if (key === '') return true
    const instrument = await store.instrument({ venue, key })
    const state = await store.market(venue, instrument?.instrument.market ?? key)
    const record = state?.record ?? { venue, marketId: key }
    return grant.allows(venue, planAsset(record))
  }
  return async ({ venue, key }) => {
    const name = `${venue} ${key}`
    const before = known.get(name)
    if (before !== undefined) return before
    const answer = await isShown(venue, key)
    known.set(name, answer)
    return answer
  }
}
