import { decimalText, isVenueId, VENUE_IDS, VENUES, type VenueId } from '../domain/index.ts'
import {
  ALERT_KINDS,
  ALERT_RULE_SCHEMA,
  MAX_WEBHOOK,
  membersOf,
  Problem,
  type AlertKind,
  type AlertRuleJson,
} from '../wire/index.ts'
import { parseUnits } from './units.ts'

/** When a value is past a threshold, in units of 10^−12. */
export type Threshold = {
  readonly isAbove: boolean
  readonly at: bigint
  /** How far the value must come back before the rule can fire again. */
  readonly rearm: bigint
}

/** Which markets a rule watches: one, or every one of a family. */
export type MarketScope = {
  readonly venue: VenueId
  readonly marketId?: string
  readonly asset?: string
  readonly window?: string
  readonly series?: string
  readonly outcome?: string
}

/** A rule that was checked. */
export type AlertRule = {
  readonly name: string | undefined
  /** The rule as it is stored and shown. */
  readonly json: AlertRuleJson
} & (
  | {
      readonly kind: 'price'
      readonly scope: MarketScope
      readonly of: 'bid' | 'ask' | 'mid'
      readonly threshold: Threshold
    }
  | { readonly kind: 'spread'; readonly scope: MarketScope; readonly threshold: Threshold }
  | {
      readonly kind: 'depth'
      readonly scope: MarketScope
      readonly side: 'bid' | 'ask'
      /** Undefined for all levels. */
      readonly within: bigint | undefined
      readonly threshold: Threshold
    }
  | { readonly kind: 'edge'; readonly contractId: string; readonly threshold: Threshold }
  | {
      readonly kind: 'gap'
      readonly scope: MarketScope
      readonly on: 'begun' | 'ended' | 'both'
    }
  | { readonly kind: 'resolved'; readonly scope: MarketScope }
)

type Given = Readonly<Record<string, unknown>>

const COMMON = ['kind', 'name', 'webhook'] as const
const MARKET = ['venue', 'market_id', 'asset', 'window', 'series'] as const
const LIMIT = ['above', 'below', 'rearm'] as const
// What a rule of each kind may say.
const MEMBERS: Readonly<Record<AlertKind, readonly string[]>> = {
  price: [...MARKET, 'outcome', 'of', ...LIMIT],
  spread: [...MARKET, 'outcome', ...LIMIT],
  depth: [...MARKET, 'outcome', 'side', 'within', ...LIMIT],
  edge: ['contract_id', 'above', 'rearm'],
  gap: [...MARKET, 'on'],
  resolved: MARKET,
}

/**
 * Checks a rule; throws `Problem` that names the member which is wrong. A rule that is followed on the stream
 * needs no webhook.
 */
export function parseAlertRule(body: unknown, needsWebhook = true): AlertRule {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Problem('invalid_parameter', 'the body is not a JSON object with a rule')
  }
  const given = body as Given
  const kind = wordOf(given, 'kind', ALERT_KINDS)
  if (kind === undefined) throw wrong('kind', 'is missing', ALERT_KINDS)
  refuseUnknown(given, kind)
  const name = textOf(given, 'name', 100)
  const webhook = textOf(given, 'webhook', MAX_WEBHOOK)
  if (webhook === undefined && needsWebhook) throw wrong('webhook', 'is missing')
  const own = { name, json: toJson(given) }
  if (kind === 'edge') {
    const contractId = textOf(given, 'contract_id', 200)
    if (contractId === undefined) throw wrong('contract_id', 'is missing')
    return { ...own, kind, contractId, threshold: thresholdOf(given) }
  }
  const scope = scopeOf(given)
  switch (kind) {
    case 'price': {
      const of = wordOf(given, 'of', ['bid', 'ask', 'mid'] as const) ?? 'mid'
      return { ...own, kind, scope, of, threshold: thresholdOf(given) }
    }
    case 'spread':
      return { ...own, kind, scope, threshold: thresholdOf(given) }
    case 'depth': {
      const side = wordOf(given, 'side', ['bid', 'ask'] as const)
      if (side === undefined) throw wrong('side', 'is missing', ['bid', 'ask'])
      const within = unitsOf(given, 'within')
      return { ...own, kind, scope, side, within, threshold: thresholdOf(given) }
    }
    case 'gap': {
      const on = wordOf(given, 'on', ['begun', 'ended', 'both'] as const) ?? 'both'
      return { ...own, kind, scope, on }
    }
    case 'resolved':
      return { ...own, kind, scope }
  }
}

function refuseUnknown(given: Given, kind: AlertKind): void {
  const allowed = [...COMMON, ...MEMBERS[kind]]
  for (const name of Object.keys(given)) {
    if (given[name] === undefined || allowed.includes(name)) continue
    const isKnown = membersOf(ALERT_RULE_SCHEMA).some((known) => known === name)
    const detail = isKnown
      ? `a rule of kind ${kind} does not take ${name}`
      : `a rule has no member ${JSON.stringify(name.slice(0, 60))}`
    throw new Problem('unknown_parameter', detail, { param: name.slice(0, 60), allowed })
  }
}

// Members in the order of the schema, whatever the order in which they were sent.
function toJson(given: Given): AlertRuleJson {
  const names = membersOf(ALERT_RULE_SCHEMA).filter((name) => given[name] !== undefined)
  return Object.fromEntries(names.map((name) => [name, given[name]])) as AlertRuleJson
}

function scopeOf(given: Given): MarketScope {
  const { venue } = given
  if (!isVenueId(venue)) {
    throw wrong('venue', venue === undefined ? 'is missing' : 'is not a venue', VENUE_IDS)
  }
  const marketId = textOf(given, 'market_id', 200)
  const asset = textOf(given, 'asset', 20)?.toUpperCase()
  const window = textOf(given, 'window', 10)
  const series = textOf(given, 'series', 200)
  const outcome = textOf(given, 'outcome', 200)
  const named = [marketId, asset, series].filter((one) => one !== undefined)
  if (named.length !== 1) {
    throw problem('market_id', 'a rule names one of market_id, asset and series')
  }
  if (window !== undefined && asset === undefined) throw wrong('window', 'goes with asset')
  if (outcome !== undefined && VENUES[venue].booksPer === 'market') {
    throw wrong('outcome', 'cannot be chosen: the venue has one book per market')
  }
  return {
    venue,
    ...(marketId !== undefined && { marketId }),
    ...(asset !== undefined && { asset }),
    ...(window !== undefined && { window }),
    ...(series !== undefined && { series }),
    ...(outcome !== undefined && { outcome }),
  }
}

function thresholdOf(given: Given): Threshold {
  const above = unitsOf(given, 'above')
  const below = unitsOf(given, 'below')
  if ((above === undefined) === (below === undefined)) {
    throw problem('above', 'a rule has either above or below')
  }
  const rearm = unitsOf(given, 'rearm') ?? 0n
  return { isAbove: above !== undefined, at: above ?? below ?? 0n, rearm }
}

function unitsOf(given: Given, name: string): bigint | undefined {
  const value = given[name]
  if (value === undefined) return undefined
  let units: bigint | undefined
  try {
    units = parseUnits(decimalText(value))
  } catch {
    units = undefined
  }
  if (units === undefined || units < 0n) {
    throw wrong(name, 'is not a decimal from 0 on, with at most 12 places')
  }
  return units
}

function textOf(given: Given, name: string, most: number): string | undefined {
  const value = given[name]
  if (value === undefined) return undefined
  if (typeof value === 'string' && value.length > 0 && value.length <= most) return value
  throw wrong(name, `is not text of 1 to ${most} characters`)
}

function wordOf<const Words extends readonly string[]>(
  given: Given,
  name: string,
  words: Words,
): Words[number] | undefined {
  const value = given[name]
  if (value === undefined) return undefined
  const word = words.find((one) => one === value)
  if (word === undefined) throw wrong(name, `is not one of ${words.join(', ')}`, words)
  return word
}

function wrong(param: string, why: string, allowed?: readonly string[]): Problem {
  return problem(param, `${param} ${why}`, allowed)
}

function problem(param: string, text: string, allowed?: readonly string[]): Problem {
  const more = allowed === undefined ? {} : { allowed }
  return new Problem('invalid_parameter', text, { param, ...more })
}
