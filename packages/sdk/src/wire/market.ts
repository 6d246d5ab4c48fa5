import { ANOMALY_CODES, type RevisionAnomaly, type VenueId } from '../domain/index.ts'
import {
  anyOf,
  COUNT,
  DECIMAL_OR_NULL,
  described,
  NAME,
  named,
  objectOf,
  ORDINAL,
  TIME_OR_NULL,
  withMembers,
  wordOf,
  type JsonSchema,
  type TypeOf,
} from './json-schema.ts'
import type { ValueStyle } from './json-values.ts'
import {
  MARKET_STATUS_SCHEMA,
  toCommonMarket,
  toLaterMembers,
  type KnownMarket,
} from './market-common.ts'
import type { ListExtra } from './routes/params.ts'
import { VENUE_WIRE } from './venues/index.ts'

export type { CommonMarketJson, KnownMarket, OutcomeJson, ResolutionJson } from './market-common.ts'

/** A market record of a venue, or of any. */
export type MarketJson<Venue extends VenueId = VenueId> = {
  [Id in VenueId]: TypeOf<(typeof VENUE_WIRE)[Id]['schema']>
}[Venue]

const MARKET_SCHEMAS: readonly JsonSchema<MarketJson>[] = Object.values(VENUE_WIRE).map(
  ({ schema }) => schema,
)

/** The schema of a market record of any venue. */
export const MARKET_SCHEMA: JsonSchema<MarketJson> = named('Market', anyOf(...MARKET_SCHEMAS))

/** Renders a market record with the names of the wire; what is not known is null. */
export function toMarketJson({ record, knownAt }: KnownMarket, style: ValueStyle = {}): MarketJson {
  const common = toCommonMarket(record, knownAt, style)
  const members = VENUE_WIRE[record.venue].toMembers(record, style)
  return { ...common, ...members, ...toLaterMembers(record, style) }
}

/** Renders a market record for a list: without `native` unless it was asked for. */
export function toListedMarketJson(
  known: KnownMarket,
  style: ValueStyle,
  include: readonly ListExtra[] = [],
): MarketJson {
  const whole = toMarketJson(known, style)
  if (include.includes('native')) return whole
  const { native: _, ...lean } = whole
  return lean
}

/** The schema of what is recorded of the first outcome of a market. */
export const QUOTE_COVERAGE_SCHEMA = named(
  'QuoteCoverage',
  objectOf({
    first_time: TIME_OR_NULL,
    last_time: TIME_OR_NULL,
    observations: COUNT,
    gaps: COUNT,
  }),
)

const QUOTE_MEMBERS = {
  last_price: described(DECIMAL_OR_NULL, 'The last execution of the first outcome.'),
  last_price_time: TIME_OR_NULL,
  best_bid: DECIMAL_OR_NULL,
  best_ask: DECIMAL_OR_NULL,
  spread: DECIMAL_OR_NULL,
  /** A closed market keeps its last quote. */
  quote_time: described(TIME_OR_NULL, 'When the newest book was received.'),
  coverage: QUOTE_COVERAGE_SCHEMA,
} as const

/** The names of what a list across venues shows of the first outcome beside the record. */
export const QUOTE_NAMES = Object.keys(QUOTE_MEMBERS) as (keyof typeof QUOTE_MEMBERS)[]

/** What a list across venues shows of the first outcome beside the record. */
export type QuoteJson = {
  readonly [Name in keyof typeof QUOTE_MEMBERS]: TypeOf<(typeof QUOTE_MEMBERS)[Name]>
}

/** A market of `/v3/markets`: its record with quote and coverage. */
export type ListedMarketJson = MarketJson & QuoteJson

/** The schema of a market of `/v3/markets`. */
export const LISTED_MARKET_SCHEMA: JsonSchema<ListedMarketJson> = named(
  'ListedMarket',
  anyOf(
    ...MARKET_SCHEMAS.map((schema) =>
      named(`Listed${schema[NAME]}`, withMembers(schema, QUOTE_MEMBERS)),
    ),
  ),
)

const ANOMALY_SCHEMA: JsonSchema<RevisionAnomaly> = named(
  'RevisionAnomaly',
  objectOf(
    {
      code: named('AnomalyCode', wordOf(ANOMALY_CODES)),
      from: MARKET_STATUS_SCHEMA,
      to: MARKET_STATUS_SCHEMA,
    },
    {
      description:
        'Only on a version whose status does not follow from the version before it: the venue moved the market illegally, messages were missed or reordered, or (`reused_id`) the venue gave the id of an ended market to another one. The version is stored as it was received.',
    },
  ),
)

/** A version of a market record. */
export type RevisionJson = MarketJson & {
  readonly revision: number
  readonly anomaly?: RevisionAnomaly
}

/** The schema of a version of a market record of a venue. */
export function revisionSchema(venue: VenueId): JsonSchema<RevisionJson> {
  const schema: JsonSchema<MarketJson> = VENUE_WIRE[venue].schema
  return named(
    `${schema[NAME]}Revision`,
    withMembers(schema, { revision: ORDINAL }, { anomaly: ANOMALY_SCHEMA }),
  )
}
