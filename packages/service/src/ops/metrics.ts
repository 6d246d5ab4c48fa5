import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client'
import { ANSWER_SECONDS, type ApiTally } from '../lib/api-tally.ts'
import type { VenueStatus } from '../recorder/intake.ts'
import type { ServiceStatus } from './status.ts'

type Set = (value: number, ...labels: string[]) => void

/** One metric: counters have names that end with `total`, `bucket`, `sum` or `count`. */
type Metric = {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly read: (status: ServiceStatus, set: Set) => void
}

/** Creates the metrics of the service in Prometheus' text form, read from its status at every scrape. */
export function createMetrics(status: () => ServiceStatus): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'priorbook_' })
  for (const metric of [...VENUE_METRICS, ...PROCESS_METRICS, ...API_METRICS]) {
    register(registry, metric, status)
  }
  return registry
}

function register(
  registry: Registry,
  { name, help, labels, read }: Metric,
  status: () => ServiceStatus,
): void {
  const options = {
    name: `priorbook_${name}`,
    help,
    labelNames: [...labels],
    registers: [registry],
  }
  const collect = (): void => {
    // Totals are counted elsewhere: every scrape sets them again.
    one.reset()
    read(status(), (value, ...values) => {
      one.inc(Object.fromEntries(labels.map((label, at) => [label, values[at]!])), value)
    })
  }
  const one: Counter | Gauge = /_(total|bucket|sum|count)$/.test(name)
    ? new Counter({ ...options, collect })
    : new Gauge({ ...options, collect })
}

function ofVenue(
  name: string,
  help: string,
  read: (venue: VenueStatus, set: Set, name: string) => void,
  labels: readonly string[] = [],
): Metric {
  return {
    name,
    help,
    labels: ['venue', ...labels],
    read: ({ recorder }, set) => {
      for (const [venue, state] of Object.entries(recorder?.venues ?? {})) read(state, set, venue)
    },
  }
}

const ROW_KINDS = ['observations', 'trades', 'samples', 'revisions'] as const

const VENUE_METRICS: readonly Metric[] = [
  ofVenue('messages_total', 'Messages received from a venue.', ({ messages }, set, venue) =>
    set(messages, venue),
  ),
  ofVenue(
    'rows_total',
    'Rows derived since the start, by kind.',
    ({ counts }, set, venue) => {
      for (const kind of ROW_KINDS) set(counts[kind], venue, kind)
    },
    ['kind'],
  ),
  ofVenue('gaps_opened_total', 'Gaps opened since the start.', ({ counts }, set, venue) =>
    set(counts.gaps, venue),
  ),
  ofVenue(
    'quarantined_total',
    'Messages or parts of them put into quarantine since the start.',
    ({ counts }, set, venue) => set(counts.quarantined, venue),
  ),
  ofVenue(
    'anomalies_total',
    'Market revisions since the start whose status does not follow from the one before.',
    ({ counts }, set, venue) => set(counts.anomalies, venue),
  ),
  ofVenue(
    'passed_over_total',
    'Messages skipped because they were outdated, duplicates, or for a closed book.',
    ({ counts }, set, venue) => set(counts.duplicates + counts.unapplied, venue),
  ),
  ofVenue('requests_failed_total', 'Requests without a usable answer.', ({ counts }, set, venue) =>
    set(counts.failed, venue),
  ),
  ofVenue(
    'books',
    'Books held now: all of them, and those without an open gap.',
    ({ books }, set, venue) => {
      set(books.tracks, venue, 'held')
      set(books.open, venue, 'open')
    },
    ['state'],
  ),
  ofVenue(
    'socket_connected',
    'Whether a socket is connected.',
    ({ connector }, set, venue) => {
      for (const { slot, connected } of connector.sockets)
        set(connected ? 1 : 0, venue, String(slot))
    },
    ['slot'],
  ),
  ofVenue(
    'quota_used_ratio',
    'The share of the upstream quota used in the current window.',
    ({ connector: { quota } }, set, venue) => {
      if (quota !== undefined) set(quota.used / quota.limit, venue)
    },
  ),
  ofVenue(
    'quota_refused_total',
    'Requests that a venue refused for its quota.',
    ({ connector: { quota } }, set, venue) => {
      if (quota !== undefined) set(quota.refused, venue)
    },
  ),
]

const PROCESS_METRICS: readonly Metric[] = [
  {
    name: 'lag_seconds',
    help: 'Time from receiving a message to its rows being durable.',
    labels: ['quantile'],
    read: ({ recorder }, set) => {
      if (recorder === undefined) return
      set(recorder.lag.p50Ms / 1000, '0.5')
      set(recorder.lag.p99Ms / 1000, '0.99')
      set(recorder.lag.maxMs / 1000, '1')
    },
  },
  {
    name: 'disk_used_bytes',
    help: 'Bytes of the data folder.',
    labels: [],
    read: ({ disk }, set) => set(disk.usedBytes),
  },
  {
    name: 'disk_free_bytes',
    help: 'Bytes free for the data folder.',
    labels: [],
    read: ({ disk }, set) => set(disk.freeBytes),
  },
  {
    name: 'disk_full_in_seconds',
    help: 'Seconds until the disk is full at the pace of the last minutes.',
    labels: [],
    read: ({ disk }, set) => {
      if (disk.fullInSeconds !== undefined) set(disk.fullInSeconds)
    },
  },
  {
    name: 'disk_full',
    help: 'Whether the disk is full, so that nothing can be written.',
    labels: [],
    read: ({ recorder }, set) => set(recorder?.diskFull === true ? 1 : 0),
  },
]

function ofApi(
  name: string,
  help: string,
  read: (api: ApiTally, set: Set) => void,
  labels: readonly string[] = [],
): Metric {
  return {
    name,
    help,
    labels,
    read: ({ api }, set) => {
      if (api !== undefined) read(api, set)
    },
  }
}

const ANSWER_TIME = 'Time from a request to its whole response'

const API_METRICS: readonly Metric[] = [
  ofApi(
    'api_requests_total',
    'Finished requests of the API; 499 where the client closed the connection.',
    ({ requests }, set) => {
      for (const [name, count] of Object.entries(requests)) {
        const space = name.lastIndexOf(' ')
        set(count, name.slice(0, space), name.slice(space + 1))
      }
    },
    ['route', 'status'],
  ),
  ofApi(
    'api_request_seconds_bucket',
    `${ANSWER_TIME}, by upper bound.`,
    ({ classes }, set) => {
      let count = 0
      for (const [index, one] of classes.entries()) {
        count += one
        set(count, String(ANSWER_SECONDS[index] ?? '+Inf'))
      }
    },
    ['le'],
  ),
  ofApi('api_request_seconds_sum', `${ANSWER_TIME}, summed.`, ({ seconds }, set) => set(seconds)),
  ofApi('api_request_seconds_count', `${ANSWER_TIME}, counted.`, ({ classes }, set) =>
    set(classes.reduce((sum, count) => sum + count, 0)),
  ),
  ofApi('api_sent_bytes_total', 'Bytes of response bodies.', ({ bytes }, set) => set(bytes)),
  ofApi('api_processes', 'Running worker processes.', ({ processes }, set) => set(processes)),
  ofApi('api_memory_bytes', 'Resident memory of all worker processes.', ({ memoryBytes }, set) =>
    set(memoryBytes),
  ),
  ofApi(
    'stream',
    'The live stream now: connections, subscriptions, and connections too slow for all rows.',
    ({ stream }, set) => {
      for (const [what, count] of Object.entries(stream)) set(count, what)
    },
    ['what'],
  ),
]
