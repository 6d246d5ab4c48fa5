import {
  flagNames,
  GAP_REASONS,
  VENUE_IDS,
  VENUES,
  type GapReason,
  type Reference,
  type ReferenceFeed,
  type VenueId,
} from '../domain/index.ts'
import { ABSENT, printSampleValue, type SampleColumns } from '../tape/index.ts'
import { ROW_FLAG } from './book-schema.ts'
import { GAP_SCHEMA } from './gap.ts'
import {
  COUNT,
  DECIMAL,
  described,
  listOf,
  membersOf,
  named,
  NUMBER,
  objectOf,
  ORDINAL,
  orNull,
  ROW_ID,
  TEXT,
  TIME,
  TIME_OR_NULL,
  VENUE,
  wordOf,
  type TypeOf,
} from './json-schema.ts'
import { decimalJson, timeJson, type ValueStyle } from './json-values.ts'

/** The names of all feeds of reference prices, each of one venue. */
export const REFERENCE_FEEDS: readonly string[] = VENUE_IDS.flatMap((venue) =>
  VENUES[venue].references.map(({ feed }) => feed),
)

/** The facts of a feed, and its venue; undefined for an unknown name. */
export function referenceFeed(name: string): (ReferenceFeed & { venue: VenueId }) | undefined {
  for (const venue of VENUE_IDS) {
    const facts = VENUES[venue].references.find(({ feed }) => feed === name)
    if (facts !== undefined) return { ...facts, venue }
  }
  return undefined
}

/** The name of a feed. */
export const REFERENCE_FEED = named('ReferenceFeed', wordOf(REFERENCE_FEEDS))

const SERIES = {
  venue: VENUE,
  feed: REFERENCE_FEED,
  asset: described(TEXT, 'The asset in capitals, such as BTC.'),
  unit: described(TEXT, 'What a price is: USD is dollars for one of the asset.'),
}

/** The schema of a series of reference prices. */
export const REFERENCE_SERIES_SCHEMA = named(
  'ReferenceSeries',
  objectOf(
    {
      ...SERIES,
      description: described(TEXT, 'What the price is.'),
      key: described(TEXT, 'The key of its gaps, for `/v3/gaps`.'),
      first_time: described(TIME, 'When its first stored price was received.'),
      last_time: described(TIME, 'When its newest one was.'),
      prices: described(COUNT, 'How many prices are stored.'),
      open_gap: described(
        orNull(named('GapReason', wordOf(Object.keys(GAP_REASONS) as GapReason[]))),
        'Why nothing was received since; null where nothing is missing.',
      ),
    },
    { description: 'A recorded series of reference prices.' },
  ),
)

/** A recorded series on the wire. */
export type ReferenceSeriesJson = TypeOf<typeof REFERENCE_SERIES_SCHEMA>

/** The schema of a reference price; buckets are in it with `interval`. */
export const REFERENCE_PRICE_SCHEMA = named(
  'ReferencePrice',
  objectOf(
    {
      /** `venue:reference/FEED/ASSET/price:sequence`. */
      id: ROW_ID,
      ...SERIES,
      bucket_start: TIME,
      bucket_end: TIME,
      age_ms: described(NUMBER, 'Age of the price at the end of its bucket.'),
      source_time: described(TIME_OR_NULL, 'The time that the venue gives the price.'),
      received_time: described(TIME, 'The recorder’s clock.'),
      sequence: ORDINAL,
      price: described(DECIMAL, 'Every digit that the venue sent, up to 18 decimals.'),
      flags: listOf(ROW_FLAG),
    },
    {
      optional: ['bucket_start', 'bucket_end', 'age_ms'],
      description: 'One price of an asset, as a feed of a venue sent it.',
    },
  ),
)

/** One reference price on the wire. */
export type ReferencePriceJson = TypeOf<typeof REFERENCE_PRICE_SCHEMA>

/** The schema of a series at an instant. */
export const REFERENCE_AT_SCHEMA = named(
  'ReferencePriceAt',
  objectOf(
    {
      ...SERIES,
      price: described(
        orNull(REFERENCE_PRICE_SCHEMA),
        'The last price received at or before the instant; null inside a gap and before the first one.',
      ),
      age_ms: described(orNull(NUMBER), 'How long before the instant it was received.'),
      gap: described(orNull(GAP_SCHEMA), 'The gap that the instant lies in.'),
    },
    { description: 'What a feed said of an asset at an instant.' },
  ),
)

/** A series at an instant on the wire. */
export type ReferenceAtJson = TypeOf<typeof REFERENCE_AT_SCHEMA>

/** The columns of reference prices in CSV, in this order. */
export function referenceColumns(hasBuckets: boolean): readonly (keyof ReferencePriceJson)[] {
  const buckets: readonly string[] = ['bucket_start', 'bucket_end', 'age_ms']
  return membersOf(REFERENCE_PRICE_SCHEMA).filter((name) => hasBuckets || !buckets.includes(name))
}

/** The identity that every price of a series carries. */
export type ReferenceContext = Reference & {
  readonly venue: VenueId
  readonly key: string
  readonly unit: string
}

/** Renders one price; `ordinal` is its number within its series, `interval` the length of its bucket. */
export function toReferenceJson(
  columns: SampleColumns,
  row: number,
  ordinal: number,
  context: ReferenceContext,
  style: ValueStyle = {},
  interval?: number,
): ReferencePriceJson {
  const { venue, key, feed, asset, unit } = context
  const received = columns.received[row]!
  const source = columns.source[row]!
  return {
    id: `${venue}:${key}/price:${ordinal}`,
    venue,
    feed,
    asset,
    unit,
    ...(interval !== undefined && bucketOf(received, interval, style)),
    source_time: timeJson(source === ABSENT ? undefined : source, style),
    received_time: timeJson(received, style)!,
    sequence: ordinal,
    price: decimalJson(printSampleValue(columns, row), style)!,
    flags: flagNames(columns.flags[row]!),
  }
}

function bucketOf(received: number, interval: number, style: ValueStyle) {
  const start = Math.floor(received / interval) * interval
  const end = start + interval
  return {
    bucket_start: timeJson(start, style)!,
    bucket_end: timeJson(end, style)!,
    age_ms: (end - received) / 1000,
  }
}
