import { VENUE_IDS, type MarketRecord, type VenueId } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import type { PageRange } from '../pages/page.ts'
import type { Grant, Notice } from '../route.ts'
import { planAsset } from './find.ts'

/** Keeps what a plan includes, and remembers that something else was left out. */
export class PlanFilter {
  readonly grant: Grant
  #notice: Notice | undefined

  constructor(grant: Grant) {
    this.grant = grant
  }

  /** Whether the plan includes every asset of every venue. */
  get includesAll(): boolean {
    return VENUE_IDS.every((venue) => this.grant.allows(venue, undefined))
  }

  /** Whether the plan includes everything that was ever recorded. */
  hidesNothing({ window }: Pick<PageRange, 'window'>): boolean {
    return this.includesAll && window === 0
  }

  /** Whether the plan includes a market. */
  includes(record: Pick<MarketRecord, 'venue' | 'marketId' | 'asset' | 'seriesTicker'>): boolean {
    return this.includesAsset(record.venue, planAsset(record))
  }

  /** Whether the plan includes an asset of a venue. */
  includesAsset(venue: VenueId, asset: string | undefined): boolean {
    if (this.grant.allows(venue, asset)) return true
    this.#notice ??= this.#explain(() => this.grant.requireAsset(venue, asset))
    return false
  }

  /** Remembers that a whole venue was left out. */
  leaveOutVenue(venue: VenueId): void {
    this.#notice ??= this.#explain(() => this.grant.requireVenue(venue))
  }

  /** That something was left out, with the plan that includes it; undefined where nothing was. */
  get notice(): Notice | undefined {
    return this.#notice
  }

  // The words of the refusal that a request for it alone gets.
  #explain(require: () => void): Notice {
    const words = {
      code: 'plan_required',
      message: `The plan ${this.grant.plan} leaves out a part.`,
    }
    try {
      require()
      return words
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const { plan } = error.fields
      const message = `Some of what matches is left out: ${error.message}.`
      return { ...words, message, ...(plan === undefined ? {} : { plan }) }
    }
  }
}

/** Throws `plan_required` where a plan includes an asset at no venue, or not at the named one. */
export function requireAssetAnywhere(
  grant: Grant,
  venue: VenueId | undefined,
  asset: string,
): void {
  const venues = venue === undefined ? VENUE_IDS : [venue]
  if (venues.some((one) => grant.allows(one, asset))) return
  grant.requireAsset(venues.find((one) => grant.allows(one, 'btc')) ?? venues[0], asset)
}
