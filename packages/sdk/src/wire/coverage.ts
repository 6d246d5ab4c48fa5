import { DATASETS } from '../domain/index.ts'
import { GAP_SCHEMA } from './gap.ts'
import {
  anyOf,
  COUNT,
  DAY,
  DAY_OR_NULL,
  DECIMAL,
  DECIMAL_OR_NULL,
  described,
  FLAG,
  listOf,
  named,
  objectOf,
  onlyWord,
  orNull,
  TEXT,
  TEXT_OR_NULL,
  TIME_OR_NULL,
  VENUE,
  wordOf,
  type TypeOf,
} from './json-schema.ts'

const CONDITION = named('DayCondition', wordOf(['available', 'degraded', 'missing']))

/** The schema of a day of all books of a venue. */
export const CALENDAR_DAY_SCHEMA = named(
  'CalendarDay',
  objectOf({
    venue: VENUE,
    day: DAY,
    condition: CONDITION,
    /** Markets with an observation on the day. */
    markets: COUNT,
    /** Ladder streams with an observation on the day. */
    instruments: COUNT,
    observations: COUNT,
    observed_ms: described(DECIMAL, 'Summed over all ladder streams of the venue.'),
    gap_ms: DECIMAL,
    /** What is missing, the longest first. */
    reasons: listOf(
      named('CalendarDayReason', objectOf({ reason: TEXT, gaps: COUNT, gap_ms: DECIMAL })),
    ),
  }),
)

/** One UTC day of all books of a venue. */
export type CalendarDayJson = TypeOf<typeof CALENDAR_DAY_SCHEMA>

/** The schema of a dataset's coverage. */
export const DATASET_COVERAGE_SCHEMA = named(
  'DatasetCoverage',
  objectOf({
    kind: onlyWord('dataset'),
    venue: VENUE,
    dataset: named('Dataset', wordOf(DATASETS)),
    assets: orNull(listOf(TEXT)),
    windows: orNull(listOf(TEXT)),
    /** Null where the interface document names none. */
    venue_floor: described(
      TIME_OR_NULL,
      'The documented start of the venue’s data; this installation may begin later.',
    ),
    year_inferred: described(FLAG, 'The year of the floor is our reading.'),
    backfilled: described(
      FLAG,
      'This installation holds rows from before its recorder first started.',
    ),
    /** When this installation began to record the venue; null while it has not. */
    capture_started_time: TIME_OR_NULL,
    first_time: described(
      TIME_OR_NULL,
      'Received time of the first row that this installation holds.',
    ),
    first_day: DAY_OR_NULL,
    backfilled_first_time: described(
      TIME_OR_NULL,
      'The venue’s time of the first row from its history, which is served apart; null where there is none.',
    ),
    backfilled_last_time: described(TIME_OR_NULL, 'The venue’s time of the last such row.'),
  }),
)

/** What is captured of one kind of data of one venue, and since when. */
export type DatasetCoverageJson = TypeOf<typeof DATASET_COVERAGE_SCHEMA>

const DAY_COVERAGE_SCHEMA = named(
  'DayCoverage',
  objectOf({
    day: DAY,
    condition: CONDITION,
    observations: COUNT,
    observed_ms: DECIMAL,
    gap_ms: DECIMAL,
    mean_spacing_ms: described(
      DECIMAL_OR_NULL,
      'Mean time between observations; null below two of them.',
    ),
  }),
)

/** One UTC day of one instrument. */
export type DayCoverageJson = TypeOf<typeof DAY_COVERAGE_SCHEMA>

const PAST_TRADES_SCHEMA = named(
  'PastTradesCoverage',
  objectOf({
    fetched_from: described(TIME_OR_NULL, 'The venue’s time from which trades were requested.'),
    fetched_until: described(TIME_OR_NULL, 'The venue’s time up to which trades were requested.'),
    first_time: described(TIME_OR_NULL, 'The venue’s time of the first trade.'),
    last_time: described(TIME_OR_NULL, 'The venue’s time of the last trade.'),
    gaps: described(listOf(GAP_SCHEMA), 'Spans that the venue did not give.'),
  }),
)

/** What was fetched of the trades of an instrument from the venue's history. */
export type PastTradesCoverageJson = TypeOf<typeof PAST_TRADES_SCHEMA>

/** The schema of an instrument's coverage. */
export const INSTRUMENT_COVERAGE_SCHEMA = named(
  'InstrumentCoverage',
  objectOf({
    kind: onlyWord('instrument'),
    venue: VENUE,
    market_id: TEXT,
    key: TEXT,
    outcome: TEXT_OR_NULL,
    token_id: TEXT_OR_NULL,
    first_time: TIME_OR_NULL,
    last_time: TIME_OR_NULL,
    first_day: DAY_OR_NULL,
    first_complete_day: DAY_OR_NULL,
    observations: COUNT,
    mean_spacing_ms: DECIMAL_OR_NULL,
    days: listOf(DAY_COVERAGE_SCHEMA),
    gaps: listOf(GAP_SCHEMA),
    backfilled_trades: described(
      orNull(PAST_TRADES_SCHEMA),
      'The trades of the venue’s history, which are served apart; null where they were not fetched.',
    ),
  }),
)

/** What is stored of one ladder stream, and what is known to be missing. */
export type InstrumentCoverageJson = TypeOf<typeof INSTRUMENT_COVERAGE_SCHEMA>

/** The schema of a row of `/v3/coverage`: of a dataset, or with `market` of a ladder stream. */
export const COVERAGE_SCHEMA = named(
  'Coverage',
  anyOf(DATASET_COVERAGE_SCHEMA, INSTRUMENT_COVERAGE_SCHEMA),
)

/** Coverage of a venue's datasets, or of the instruments of a market. */
export type CoverageJson = TypeOf<typeof COVERAGE_SCHEMA>
