import { collectDefaultMetrics, Registry } from 'prom-client'
import { ANSWER_SECONDS, type ApiTally } from '../lib/api-tally.ts'
import type { VenueStatus } from '../recorder/intake.ts'
import { BYTE_METRICS } from './byte-metrics.ts'
import { histogramLines, toExposition, type MetricFamily, type MetricLine } from './exposition.ts'
import type { ServiceStatus } from './status.ts'

/** Values with their labels: one without labels, several, or none. */
type Values = number | undefined | readonly (readonly [value: number, ...labels: string[]])[]

/** Name, help, values and label names. Names of counters end with `total`. */
type Metric<Status> = readonly [
  name: string,
  help: string,
  read: (status: Status) => Values,
  ...labels: string[],
]

/** A metric of the service, without its values. */
export type MetricDefinition = Omit<MetricFamily, 'lines'> & {
  readonly labels: readonly string[]
  readonly read: (status: ServiceStatus) => readonly MetricLine[]
}

/** Metrics in the text form of Prometheus. */
export type Metrics = Pick<Registry, 'contentType' | 'metrics'>

const PREFIX = 'priorbook_'

/** Creates the metrics of the service and of its process, read from its status at every scrape. */
export function createMetrics(status: () => ServiceStatus): Metrics {
  const usual = usualMetrics()
  return {
    contentType: usual.contentType,
    async metrics() {
      const now = status()
      const own = METRICS.map((metric) => ({ ...metric, lines: metric.read(now) }))
      return toExposition(own) + (await usual.metrics())
    },
  }
}

// The usual metrics of a Node process.
function usualMetrics(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: PREFIX })
  // Gauges with the names of counters; the same is in the metrics without `_total`, by type.
  for (const what of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`${PREFIX}nodejs_active_${what}_total`)
  }
  return registry
}

function define([name, help, read, ...labels]: Metric<ServiceStatus>): MetricDefinition {
  return {
    name: PREFIX + name,
    kind: name.endsWith('_total') ? 'counter' : 'gauge',
    help,
    labels,
    read: (status) =>
      toList(read(status)).map(([value, ...values]) => ({
        value,
        labels: Object.fromEntries(labels.map((label, at) => [label, values[at]!])),
      })),
  }
}

function ofVenues(read: (venue: VenueStatus, since: number) => Values): Metric<ServiceStatus>[2] {
  return ({ recorder }) =>
    Object.entries(recorder?.venues ?? {}).flatMap(([venue, state]) =>
      toList(read(state, recorder!.since)).map(
        ([value, ...labels]) => [value, venue, ...labels] as const,
      ),
    )
}

function ofApi(read: (api: ApiTally) => Values): Metric<ServiceStatus>[2] {
  return ({ api }) => (api === undefined ? undefined : read(api))
}

function toList(values: Values): readonly (readonly [number, ...string[]])[] {
  if (values === undefined) return []
  return typeof values === 'number' ? [[values]] : values
}

// The length of the time since then, in seconds; clocks may have been set back meanwhile.
function secondsSince(micros: number): number {
  return Math.max(0, Date.now() / 1000 - micros / 1e6)
}

const ROW_KINDS = ['observations', 'trades', 'samples', 'revisions'] as const

type VenueMetric = readonly [
  name: string,
  help: string,
  read: (venue: VenueStatus, since: number) => Values,
  ...labels: string[],
]

const VENUE_METRICS: readonly VenueMetric[] = [
  [
    'venue_recording',
    'Whether a venue is being recorded without trouble.',
    ({ connector: { state } }) => (state === 'recording' ? 1 : 0),
  ],
  [
    'newest_row_age_seconds',
    'Time since the newest stored row of a kind was received; since the start where books have none yet.',
    ({ newest }, since) =>
      Object.entries({ observations: since, ...newest }).map(([kind, at]) => [
        secondsSince(at),
        kind,
      ]),
    'kind',
  ],
  ['messages_total', 'Messages received from a venue.', ({ messages }) => messages],
  [
    'rows_total',
    'Rows derived since the start, by kind.',
    ({ counts }) => ROW_KINDS.map((kind) => [counts[kind], kind]),
    'kind',
  ],
  [
    'gaps_opened_total',
    'Gaps opened since the start, without ends of markets.',
    ({ counts }) => counts.gaps,
  ],
  [
    'gap_seconds_total',
    'Lengths of gaps that ended since the start, summed over books, without spans that are not to be recorded.',
    ({ gapMicros }) =>
      Object.entries(gapMicros).map(([reason, micros]) => [micros / 1e6, reason] as const),
    'reason',
  ],
  [
    'books_missing',
    'Books that are in a gap now though their market is open and selected.',
    ({ books }) => books.missing,
  ],
  [
    'oldest_gap_age_seconds',
    'Age of the oldest gap of these books; 0 for none.',
    ({ books: { missingSince } }) => (missingSince === undefined ? 0 : secondsSince(missingSince)),
  ],
  [
    'quarantined_total',
    'Messages or parts of them put into quarantine since the start.',
    ({ counts }) => counts.quarantined,
  ],
  [
    'anomalies_total',
    'Market revisions since the start whose status does not follow from the one before.',
    ({ counts }) => counts.anomalies,
  ],
  [
    'parity_failures_total',
    'Checks of prices that failed since the start, by check.',
    ({ counts }) => Object.entries(counts.parity).map(([check, count]) => [count, check] as const),
    'check',
  ],
  [
    'passed_over_total',
    'Messages skipped because they were outdated, duplicates, or for a closed book.',
    ({ counts }) => counts.duplicates + counts.unapplied,
  ],
  ['requests_failed_total', 'Requests without a usable answer.', ({ counts }) => counts.failed],
  [
    'books',
    'Books held now: all of them, and those without an open gap.',
    ({ books }) => [
      [books.tracks, 'held'],
      [books.open, 'open'],
    ],
    'state',
  ],
  [
    'remembered',
    'Markets, books and series in the memory of the recorder; ended ones leave it.',
    ({ remembered }) => remembered,
  ],
  [
    'tier_markets',
    'Open markets by how deep they are recorded.',
    ({ connector: { tiers = {} } }) => Object.entries(tiers).map(([tier, count]) => [count, tier]),
    'tier',
  ],
  [
    'clock_offset_seconds',
    "The venue's clock minus ours, when they were last compared.",
    ({ clockOffsetMicros }) => clockOffsetMicros && clockOffsetMicros / 1e6,
  ],
  [
    'socket_connected',
    'Whether a socket is connected.',
    ({ connector }) =>
      connector.sockets.map(({ slot, connected }) => [connected ? 1 : 0, String(slot)]),
    'slot',
  ],
  [
    'quota_used_ratio',
    'The share of the upstream quota used in the current window.',
    ({ connector: { quota } }) => quota && quota.used / quota.limit,
  ],
  [
    'quota_refused_total',
    'Requests that a venue refused for its quota.',
    ({ connector: { quota } }) => quota?.refused,
  ],
]

const PROCESS_METRICS: readonly Metric<ServiceStatus>[] = [
  [
    'recorder_up',
    'Whether this process records; absent where it only serves.',
    ({ role, upstream, recorder }) => {
      if (recorder !== undefined) return 1
      return role === 'api' || upstream === 'none' ? undefined : 0
    },
  ],
  ['disk_used_bytes', 'Bytes of the data folder.', ({ disk }) => disk.usedBytes],
  ['disk_free_bytes', 'Bytes free for the data folder.', ({ disk }) => disk.freeBytes],
  [
    'disk_full_in_seconds',
    'Seconds until the disk is full at the pace of the last minutes.',
    ({ disk }) => disk.fullInSeconds,
  ],
  [
    'disk_kept_bytes',
    'Bytes of data with a retention limit, as its last survey found them.',
    ({ retention }) => retention.map(({ keptBytes, venue, tier }) => [keptBytes, venue, tier]),
    'venue',
    'tier',
  ],
  [
    'disk_kept_limit_bytes',
    'The most bytes that retention keeps.',
    ({ retention }) =>
      retention.flatMap(({ limit: { bytes }, venue, tier }) =>
        bytes === undefined ? [] : [[bytes, venue, tier]],
      ),
    'venue',
    'tier',
  ],
  [
    'disk_kept_limit_seconds',
    'The longest time that retention keeps data.',
    ({ retention }) =>
      retention.flatMap(({ limit: { ageMicros }, venue, tier }) =>
        ageMicros === undefined ? [] : [[ageMicros / 1e6, venue, tier]],
      ),
    'venue',
    'tier',
  ],
  [
    'disk_removed_bytes_total',
    'Bytes that retention removed since the start.',
    ({ retention }) =>
      retention.map(({ removedBytes, venue, tier }) => [removedBytes, venue, tier]),
    'venue',
    'tier',
  ],
  [
    'shared_commit',
    'The last commit of the shared tape that this process has.',
    ({ shared }) => shared?.commit ?? shared?.last,
  ],
  [
    'shared_unsent',
    'Commits of the writer that the shared tape does not have yet.',
    ({ shared }) => (shared?.last !== undefined ? shared.last - shared.sent! : undefined),
  ],
  [
    'shared_writer',
    'Whether this process writes the shared tape.',
    ({ shared }) => shared && (shared.part === 'writer' ? 1 : 0),
  ],
  [
    'shared_failing',
    'Whether the shared tape cannot be written or followed.',
    ({ shared }) => shared && (shared.trouble === undefined ? 0 : 1),
  ],
  ['cold_bytes', 'Bytes of segments in other storage.', ({ cold }) => cold?.bytes],
  ['cold_chunks', 'Chunks in other storage.', ({ cold }) => cold?.chunks],
  [
    'cold_journal_bytes',
    'Bytes of files of journals in other storage.',
    ({ cold }) => cold?.journal.bytes,
  ],
  [
    'cold_failing',
    'Whether the last move of chunks to other storage failed.',
    ({ cold }) => cold && (cold.trouble === undefined ? 0 : 1),
  ],
  [
    'disk_full',
    'Whether the disk is full, so that nothing can be written.',
    ({ recorder }) => (recorder?.diskFull === true ? 1 : 0),
  ],
]

const API_METRICS: readonly Metric<ApiTally>[] = [
  [
    'api_requests_total',
    'Finished requests of the API; 499 where the client closed the connection.',
    ({ requests }) => Object.entries(requests).map(([name, count]) => [count, ...splitName(name)]),
    'route',
    'status',
  ],
  ['api_sent_bytes_total', 'Bytes of response bodies.', ({ bytes }) => bytes],
  ['api_processes', 'Running worker processes.', ({ processes }) => processes],
  [
    'api_memory_bytes',
    'Resident memory of all worker processes.',
    ({ memoryBytes }) => memoryBytes,
  ],
  [
    'stream_connections',
    'Open connections of the live stream.',
    ({ stream }) => stream.connections,
  ],
  ['stream_subscriptions', 'Live subscriptions.', ({ stream }) => stream.subscriptions],
  [
    'stream_slow_connections',
    'Connections of the live stream that are too slow now, so that rows are left out for them.',
    ({ stream }) => stream.held,
  ],
]

const LAG: MetricDefinition = {
  name: `${PREFIX}lag_seconds`,
  kind: 'summary',
  help: 'Time from receiving a message to its rows being durable; quantiles of the last one to two minutes.',
  labels: ['quantile'],
  read({ recorder }) {
    if (recorder === undefined) return []
    const { p50Ms, p99Ms, maxMs, totalCount, totalMs } = recorder.lag
    return [
      { value: p50Ms / 1000, labels: { quantile: '0.5' } },
      { value: p99Ms / 1000, labels: { quantile: '0.99' } },
      { value: maxMs / 1000, labels: { quantile: '1' } },
      { value: totalMs / 1000, labels: {}, suffix: '_sum' },
      { value: totalCount, labels: {}, suffix: '_count' },
    ]
  },
}

const RESPONSE_TIMES: MetricDefinition = {
  name: `${PREFIX}api_request_seconds`,
  kind: 'histogram',
  help: 'Time from a request to its whole response, by class of status such as 2xx.',
  labels: ['route', 'class', 'le'],
  read: ({ api }) =>
    Object.entries(api?.times ?? {}).flatMap(([name, { counts, seconds }]) => {
      const [route, status] = splitName(name)
      return histogramLines({ route, class: status }, ANSWER_SECONDS, counts, seconds)
    }),
}

// A route and a status or a class of them.
function splitName(name: string): readonly [route: string, status: string] {
  const space = name.lastIndexOf(' ')
  return [name.slice(0, space), name.slice(space + 1)]
}

/** All metrics of the service, in the order in which they are written. */
export const METRICS: readonly MetricDefinition[] = [
  ...VENUE_METRICS.map(([name, help, read, ...labels]) =>
    define([name, help, ofVenues(read), 'venue', ...labels]),
  ),
  LAG,
  ...PROCESS_METRICS.map(define),
  ...BYTE_METRICS.map(define),
  ...API_METRICS.map(([name, help, read, ...labels]) =>
    define([name, help, ofApi(read), ...labels]),
  ),
  RESPONSE_TIMES,
]
