import { DAY_MICROS, toMicros, type VenueId } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import type { Grant } from '../route.ts'
import type { KeyRecord } from './keys.ts'
import type { Plan } from './plans.ts'

/** A grant with its plan and, for keyed requests, the public record of the key. */
export type PlanGrant = Grant & {
  readonly terms: Plan
  readonly key: KeyRecord | undefined
  allowsVenue(venue: VenueId): boolean
}

/** Creates the grant of a plan; a refusal names the cheapest of `plans` that would allow the request. */
export function createGrant(
  plan: Plan,
  plans: readonly Plan[],
  key: KeyRecord | undefined,
  keyId: string = key?.id ?? 'none',
): PlanGrant {
  const refuse = (what: string, allows: (plan: Plan) => boolean): never => {
    const better = plans.find((one) => one.rank > plan.rank && allows(one))
    const more = better === undefined ? {} : { plan: better.name, hint: upgrade(better.name) }
    throw new Problem('plan_required', `the plan ${plan.name} does not include ${what}`, more)
  }
  return {
    keyId,
    plan: plan.name,
    terms: plan,
    key,
    requireVenue(venue) {
      if (!hasVenue(plan, venue)) refuse(venue, (one) => hasVenue(one, venue))
    },
    requireAsset(venue, asset) {
      if (!has(plan, venue, asset)) refuse(nameOf(asset), (one) => has(one, venue, asset))
    },
    requireFeature(feature) {
      if (!plan.features.includes(feature)) {
        refuse(feature, (one) => one.features.includes(feature))
      }
    },
    allows: (venue, asset) => has(plan, venue, asset),
    allowsVenue: (venue) => hasVenue(plan, venue),
    windowStart: (now) =>
      toMicros(plan.days === null ? 0 : Math.max(0, now - plan.days * DAY_MICROS)),
  }
}

function hasVenue(plan: Plan, venue: VenueId): boolean {
  return plan.venues.includes(venue)
}

// A market without a known asset is included by plans with all assets only.
function has(plan: Plan, venue: VenueId, asset: string | undefined): boolean {
  if (!hasVenue(plan, venue)) return false
  return plan.assets === null || (asset !== undefined && plan.assets.includes(asset.toLowerCase()))
}

function nameOf(asset: string | undefined): string {
  return asset === undefined ? 'markets without a known asset' : `asset ${asset.slice(0, 20)}`
}

function upgrade(plan: string): string {
  return `The plan ${plan} includes it.`
}

/** The grant of a request that came through the server, whose grants all know their plan. */
export function callerOf(grant: Grant): PlanGrant {
  return grant as PlanGrant
}
