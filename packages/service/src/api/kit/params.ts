import { flagParam, integerParam, textParam, timeParam, wordParam } from './param.ts'

/** The intervals of sampling, in microseconds. */
export const INTERVALS = {
  '1s': 1_000_000,
  '5s': 5_000_000,
  '10s': 10_000_000,
  '30s': 30_000_000,
  '1m': 60_000_000,
  '5m': 300_000_000,
  '15m': 900_000_000,
  '1h': 3_600_000_000,
  '1d': 86_400_000_000,
} as const

/** The name of an interval. */
export type Interval = keyof typeof INTERVALS

/** The formats of rows. */
export const FORMATS = ['json', 'ndjson', 'csv'] as const

/** The default and the largest page. */
export const DEFAULT_LIMIT = 100
export const MAX_LIMIT = 1000

/** Parameters that every paged route takes. */
export const PAGE_PARAMS = {
  limit: integerParam(1, MAX_LIMIT, `Rows a page, ${DEFAULT_LIMIT} by default.`),
  cursor: textParam(4096, 'Where to go on: `pagination.next_cursor` of the page before.'),
  order: wordParam(['asc', 'desc'], 'Oldest first (the default) or newest first.'),
}

/** The time range of a route. */
export const RANGE_PARAMS = {
  start_time: timeParam('Only what was received at or after this time.'),
  end_time: timeParam('Only what was received before this time.'),
}

/** How values are written. */
export const STYLE_PARAMS = {
  number_format: wordParam(['number', 'string'], 'Decimals as JSON numbers (default) or as text.'),
  time_format: wordParam(['iso', 'epoch_us'], 'Times as ISO 8601 (default) or whole microseconds.'),
  format: wordParam(FORMATS, 'The format of the answer; `Accept` does the same.'),
}

/** What was known at a time. */
export const KNOWN_AT_PARAM = {
  known_at: timeParam('What was known at this time; later corrections are left out.'),
}

/** The choices of book routes. */
export const BOOK_PARAMS = {
  include_orderbook: flagParam('Whether rows carry ladders.'),
  depth: integerParam(1, 10_000, 'At most so many levels a side.'),
  interval: wordParam(
    Object.keys(INTERVALS) as Interval[],
    'The last observation of every interval instead of every observation.',
  ),
  clock: wordParam(
    ['received', 'source'],
    'Which clock the range means; rows stay in received order.',
  ),
}
