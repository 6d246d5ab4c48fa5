import {
  described,
  COUNT,
  DAY,
  FLAG,
  listOf,
  named,
  NUMBER,
  objectOf,
  onlyWord,
  orNull,
  TEXT,
  TEXT_OR_NULL,
  VENUE,
  wordOf,
  type TypeOf,
} from './json-schema.ts'

/** The schema of a key and what its plan allows. */
export const WHOAMI_SCHEMA = named(
  'Whoami',
  objectOf({
    key_id: TEXT,
    key_prefix: TEXT,
    key_last_four: TEXT,
    name: TEXT,
    plan: TEXT,
    created_time: TEXT,
    expires_time: TEXT_OR_NULL,
    ends_time: TEXT_OR_NULL,
    venues: listOf(VENUE),
    assets: orNull(listOf(TEXT)),
    history_days: orNull(COUNT),
    history_start_time: TEXT_OR_NULL,
    features: listOf(TEXT),
  }),
)

/** The key of a request and what its plan allows. */
export type WhoamiJson = TypeOf<typeof WHOAMI_SCHEMA>

/** The schema of every limit of a key. */
export const LIMITS_SCHEMA = named(
  'Limits',
  objectOf({
    plan: TEXT,
    rates: listOf(
      named(
        'RateLimit',
        objectOf({
          limit: TEXT,
          quota: COUNT,
          window_seconds: COUNT,
          remaining: COUNT,
          reset_seconds: NUMBER,
        }),
      ),
    ),
    page: named('PageLimits', objectOf({ default: COUNT, max: COUNT })),
    intervals: listOf(TEXT),
    bulk_days: orNull(COUNT),
    history_days: orNull(COUNT),
    stream: named(
      'StreamLimits',
      objectOf({ connections: COUNT, subscriptions: COUNT, instruments: COUNT, replays: COUNT }),
    ),
    alerts: COUNT,
    address_bytes: COUNT,
    header_bytes: COUNT,
  }),
)

/** Every limit of a key. */
export type LimitsJson = TypeOf<typeof LIMITS_SCHEMA>

/** The schema of the use of a key on one day. */
export const USAGE_SCHEMA = named(
  'Usage',
  objectOf({
    day: DAY,
    route: TEXT,
    requests: COUNT,
    refused: COUNT,
    limited: COUNT,
    rows: COUNT,
    bytes: COUNT,
  }),
)

/** What a key was used for on one day. */
export type UsageJson = TypeOf<typeof USAGE_SCHEMA>

const CAPTURE_SCHEMA = named(
  'Capture',
  objectOf({
    markets: COUNT,
    books: COUNT,
    books_open: COUNT,
    sockets: COUNT,
    messages: COUNT,
    messages_per_second: NUMBER,
    observations: COUNT,
    trades: COUNT,
    samples: COUNT,
    gaps: COUNT,
    quarantined: COUNT,
    /** The venue's limit on requests, what is used of the current window, and refusals. */
    quota: orNull(
      named(
        'CaptureQuota',
        objectOf({ limit: COUNT, window_ms: COUNT, used: COUNT, refused: COUNT }),
      ),
    ),
  }),
)

/** What a recorder does with one venue; counts since it started. */
export type CaptureJson = TypeOf<typeof CAPTURE_SCHEMA>

/** The schema of how the service is doing. */
export const STATUS_SCHEMA = named(
  'Status',
  objectOf({
    state: named('ServiceState', wordOf(['operational', 'degraded', 'not_recording'])),
    recorder: orNull(
      named(
        'RecorderStatus',
        objectOf({ lag_p50_ms: NUMBER, lag_p99_ms: NUMBER, disk_full: FLAG }),
      ),
    ),
    stream: orNull(
      named(
        'StreamStatus',
        objectOf({
          connections: COUNT,
          subscriptions: COUNT,
          instruments: COUNT,
          messages_per_second: NUMBER,
        }),
      ),
    ),
    venues: listOf(
      named(
        'VenueStatus',
        objectOf({
          venue: VENUE,
          state: named('VenueState', wordOf(['recording', 'interrupted', 'not_recording'])),
          detail: TEXT_OR_NULL,
          instruments: COUNT,
          last_received_time: TEXT_OR_NULL,
          open_gaps: COUNT,
          /** Null where the recorder does not record the venue. */
          capture: orNull(CAPTURE_SCHEMA),
        }),
      ),
    ),
    incidents: listOf(
      named(
        'Incident',
        objectOf({
          venue: VENUE,
          state: named('IncidentState', wordOf(['open', 'resolved'])),
          reason: TEXT,
          summary: TEXT,
          start_time: TEXT,
          end_time: described(TEXT_OR_NULL, 'Null while books are missing.'),
          books: described(COUNT, 'How many books it interrupted.'),
          detail: TEXT_OR_NULL,
        }),
      ),
    ),
  }),
)

/** How the service is doing. */
export type StatusJson = TypeOf<typeof STATUS_SCHEMA>

/** The schema of the answer to a health check. */
export const HEALTH_SCHEMA = named('Health', objectOf({ status: onlyWord('ok') }))
