import { DAY_MICROS, isLastStatus, VENUES, type VenueId } from '@priorbook/sdk/domain'
import { Problem, type MarketSelector } from '@priorbook/sdk/wire'
import type { MarketPage } from '../../store/store.ts'
import { planAsset } from './find.ts'
import type { PlanFilter } from './plan-filter.ts'
import type { ApiContext, Grant } from '../route.ts'

/** The markets of one venue that share series, asset or window, as filters of the store. */
export type Family = Pick<MarketSelector, 'venue' | 'series' | 'asset' | 'window'>

/** The family that a request names. */
export type FamilyNames = {
  readonly venue: VenueId
  readonly series?: string | undefined
  readonly asset?: string | undefined
  readonly window?: string | undefined
}

/** Parses the family of a selector; throws `plan_required` where the plan does not include it. */
export function toFamily(grant: Grant, { venue, series, window, ...more }: FamilyNames): Family {
  grant.requireVenue(venue)
  const asset = more.asset?.toUpperCase()
  if (asset !== undefined) grant.requireAsset(venue, asset)
  else if (series !== undefined) {
    grant.requireAsset(venue, planAsset({ venue, marketId: series, seriesTicker: series }))
  }
  return {
    venue,
    ...(series === undefined ? {} : { series }),
    ...(asset === undefined ? {} : { asset }),
    ...(window === undefined ? {} : { window }),
  }
}

/** Finds the family of a selector; throws `Problem` where none of its markets is recorded. */
export async function findFamily(
  context: ApiContext,
  grant: Grant,
  selector: FamilyNames,
): Promise<Family> {
  const family = toFamily(grant, selector)
  const { series, asset, window } = family
  const { markets } = await context.store.markets({ ...family, limit: 1 })
  if (markets.length > 0) return family
  const names = Object.entries(family).map(([name, value]) => `${name} ${value}`)
  const code = asset === undefined || window !== undefined ? 'unknown_market' : 'unknown_asset'
  throw new Problem(code, `no market of ${names.join(', ')} has been recorded`, {
    param: asset !== undefined ? 'asset' : series !== undefined ? 'series' : 'venue',
    hint: 'Recorded markets are listed by /v3/markets.',
  })
}

/** A market as lists of the store give it. */
type Listed = MarketPage['markets'][number]

// Markets per read of the store.
const PAGE = 100

/** The markets of a family that the plan includes, by open time and id. */
export async function* marketsOf(
  { store }: ApiContext,
  plan: PlanFilter,
  family: Family,
  range: { readonly start?: number; readonly end?: number },
): AsyncGenerator<Listed> {
  let after: { openTime: number; venue: string; marketId: string } | undefined
  for (;;) {
    const page = await store.markets({ ...family, ...range, limit: PAGE, after })
    for (const state of page.markets) if (plan.includes(state.record)) yield state
    const last = page.markets.at(-1)
    if (!page.hasMore || last === undefined) return
    const { venue, marketId } = last.record
    after = { openTime: last.sortTime, venue, marketId }
  }
}

// Books are recorded from the listing of a market, up to a day before it opens, until its resolution.
const RECORDED_OUTSIDE = 2 * DAY_MICROS

/**
 * The markets of a family that may have rows in a range, by open time and id: also those that open after it, and those
 * whose venue lets them trade on past their closing time.
 */
export function marketsWithRows(
  context: ApiContext,
  plan: PlanFilter,
  family: Family,
  { start, end }: { readonly start: number; readonly end: number },
): AsyncGenerator<Listed> {
  const range = { start: start - RECORDED_OUTSIDE, end: end + RECORDED_OUTSIDE }
  const inTime = marketsOf(context, plan, family, range)
  const { venue, series, window } = family
  // Rounds end by the clock at every venue.
  const endsByClock = VENUES[venue].trading.stopsAtClose || (window ?? NO_WINDOW) !== NO_WINDOW
  if (endsByClock || series !== undefined) return inTime
  return inOrder(inTime, marketsPastClose(context, plan, family, range))
}

// Families of markets that are not rounds.
const NO_WINDOW = ''

async function* marketsPastClose(
  context: ApiContext,
  plan: PlanFilter,
  family: Family,
  { start, end }: { readonly start: number; readonly end: number },
): AsyncGenerator<Listed> {
  for await (const state of marketsOf(context, plan, { ...family, window: NO_WINDOW }, { end })) {
    const { closeTime = Infinity, status = '' } = state.record
    const isOver = isLastStatus(status) && state.knownAt < start
    if (closeTime <= start && !isOver) yield state
  }
}

async function* inOrder(
  left: AsyncGenerator<Listed>,
  right: AsyncGenerator<Listed>,
): AsyncGenerator<Listed> {
  try {
    let [one, other] = await Promise.all([left.next(), right.next()])
    while (one.done !== true || other.done !== true) {
      if (other.done === true || (one.done !== true && isBefore(one.value, other.value))) {
        yield one.value as Listed
        one = await left.next()
      } else {
        yield other.value
        other = await right.next()
      }
    }
  } finally {
    await Promise.all([left.return(undefined), right.return(undefined)])
  }
}

function isBefore(left: Listed, right: Listed): boolean {
  if (left.sortTime !== right.sortTime) return left.sortTime < right.sortTime
  return left.record.marketId < right.record.marketId
}
