import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client'
import { ANSWER_SECONDS, type ApiTally } from '../lib/api-tally.ts'
import type { VenueStatus } from '../recorder/intake.ts'
import type { ServiceStatus } from './status.ts'

/** Values with their labels: one without labels, several, or none. */
type Values = number | undefined | readonly (readonly [value: number, ...labels: string[]])[]

/** Name, help, values and label names. Counters end with `total`, `bucket`, `sum` or `count`. */
type Metric<Status> = readonly [
  name: string,
  help: string,
  read: (status: Status) => Values,
  ...labels: string[],
]

/** Creates the metrics of the service in Prometheus' text form, read from its status at every scrape. */
export function createMetrics(status: () => ServiceStatus): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'priorbook_' })
  for (const [name, help, read, ...labels] of VENUE_METRICS) {
    register(registry, status, [name, help, ofVenues(read), 'venue', ...labels])
  }
  for (const metric of PROCESS_METRICS) register(registry, status, metric)
  for (const [name, help, read, ...labels] of API_METRICS) {
    const ofApi = ({ api }: ServiceStatus): Values => (api === undefined ? undefined : read(api))
    register(registry, status, [name, help, ofApi, ...labels])
  }
  return registry
}

function register(
  registry: Registry,
  status: () => ServiceStatus,
  [name, help, read, ...labels]: Metric<ServiceStatus>,
): void {
  const collect = (): void => {
    // Totals are counted elsewhere: every scrape sets them again.
    one.reset()
    for (const [value, ...values] of toList(read(status()))) {
      one.inc(Object.fromEntries(labels.map((label, at) => [label, values[at]!])), value)
    }
  }
  const options = {
    name: `priorbook_${name}`,
    help,
    labelNames: labels,
    registers: [registry],
    collect,
  }
  const isCounter = /_(total|bucket|sum|count)$/.test(name)
  const one: Counter | Gauge = isCounter ? new Counter(options) : new Gauge(options)
}

function ofVenues(read: (venue: VenueStatus) => Values): (status: ServiceStatus) => Values {
  return ({ recorder }) =>
    Object.entries(recorder?.venues ?? {}).flatMap(([venue, state]) =>
      toList(read(state)).map(([value, ...labels]) => [value, venue, ...labels] as const),
    )
}

function toList(values: Values): readonly (readonly [number, ...string[]])[] {
  if (values === undefined) return []
  return typeof values === 'number' ? [[values]] : values
}

const ROW_KINDS = ['observations', 'trades', 'samples', 'revisions'] as const

const VENUE_METRICS: readonly Metric<VenueStatus>[] = [
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
    'lag_seconds',
    'Time from receiving a message to its rows being durable.',
    ({ recorder }) =>
      recorder && [
        [recorder.lag.p50Ms / 1000, '0.5'],
        [recorder.lag.p99Ms / 1000, '0.99'],
        [recorder.lag.maxMs / 1000, '1'],
      ],
    'quantile',
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
    'Bytes of data with a retention limit, after its last pass.',
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

const ANSWER_TIME = 'Time from a request to its whole response'

const API_METRICS: readonly Metric<ApiTally>[] = [
  [
    'api_requests_total',
    'Finished requests of the API; 499 where the client closed the connection.',
    ({ requests }) =>
      Object.entries(requests).map(([name, count]) => {
        const space = name.lastIndexOf(' ')
        return [count, name.slice(0, space), name.slice(space + 1)]
      }),
    'route',
    'status',
  ],
  [
    'api_request_seconds_bucket',
    `${ANSWER_TIME}, by upper bound.`,
    ({ classes }) => {
      let count = 0
      return classes.map((one, index) => {
        count += one
        return [count, String(ANSWER_SECONDS[index] ?? '+Inf')]
      })
    },
    'le',
  ],
  ['api_request_seconds_sum', `${ANSWER_TIME}, summed.`, ({ seconds }) => seconds],
  [
    'api_request_seconds_count',
    `${ANSWER_TIME}, counted.`,
    ({ classes }) => classes.reduce((sum, count) => sum + count, 0),
  ],
  ['api_sent_bytes_total', 'Bytes of response bodies.', ({ bytes }) => bytes],
  ['api_processes', 'Running worker processes.', ({ processes }) => processes],
  [
    'api_memory_bytes',
    'Resident memory of all worker processes.',
    ({ memoryBytes }) => memoryBytes,
  ],
  [
    'stream',
    'The live stream now: connections, subscriptions, and connections too slow for all rows.',
    ({ stream }) => Object.entries(stream).map(([what, count]) => [count, what]),
    'what',
  ],
]
