import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client'
import { ANSWER_SECONDS } from '../lib/api-tally.ts'
import type { VenueStatus } from '../recorder/intake.ts'
import type { ServiceStatus } from './status.ts'

type Set = (value: number, ...values: string[]) => void

/** The metrics of the service in Prometheus' text form, read from its status at every scrape. */
export function createMetrics(status: () => ServiceStatus): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'priorbook_' })

  function metric(
    name: string,
    help: string,
    labels: readonly string[],
    read: (state: ServiceStatus, set: Set) => void,
  ): void {
    const options = {
      name: `priorbook_${name}`,
      help,
      labelNames: [...labels],
      registers: [registry],
    }
    const collect = (): void => {
      one.reset()
      read(status(), (value, ...values) => {
        one.inc(Object.fromEntries(labels.map((label, at) => [label, values[at]!])), value)
      })
    }
    // What only grows is a counter; its value is ours and is set anew at every scrape.
    const one: Counter | Gauge = /_(total|bucket|sum|count)$/.test(name)
      ? new Counter({ ...options, collect })
      : new Gauge({ ...options, collect })
  }

  const perVenue =
    (read: (venue: VenueStatus, set: Set, name: string) => void) =>
    (state: ServiceStatus, set: Set): void => {
      for (const [name, venue] of Object.entries(state.recorder?.venues ?? {})) {
        read(venue, set, name)
      }
    }

  metric(
    'messages_total',
    'Messages received from a venue.',
    ['venue'],
    perVenue(({ messages }, set, name) => set(messages, name)),
  )
  metric(
    'rows_total',
    'Rows derived since the start, by kind.',
    ['venue', 'kind'],
    perVenue(({ counts }, set, name) => {
      for (const kind of ['observations', 'trades', 'samples', 'revisions'] as const) {
        set(counts[kind], name, kind)
      }
    }),
  )
  metric(
    'gaps_opened_total',
    'Gaps opened since the start.',
    ['venue'],
    perVenue(({ counts }, set, name) => set(counts.gaps, name)),
  )
  metric(
    'quarantined_total',
    'Messages or parts of them put into quarantine since the start.',
    ['venue'],
    perVenue(({ counts }, set, name) => set(counts.quarantined, name)),
  )
  metric(
    'anomalies_total',
    'Market revisions since the start whose status does not follow from the one before.',
    ['venue'],
    perVenue(({ counts }, set, name) => set(counts.anomalies, name)),
  )
  metric(
    'passed_over_total',
    'Messages that were older than what was known, delivered twice, or came while the book was closed.',
    ['venue'],
    perVenue(({ counts }, set, name) => set(counts.duplicates + counts.unapplied, name)),
  )
  metric(
    'requests_failed_total',
    'Requests that brought no answer to keep.',
    ['venue'],
    perVenue(({ counts }, set, name) => set(counts.failed, name)),
  )
  metric(
    'books',
    'Books held now: all of them, and those that miss nothing.',
    ['venue', 'state'],
    perVenue(({ books }, set, name) => {
      set(books.tracks, name, 'held')
      set(books.open, name, 'open')
    }),
  )
  metric(
    'socket_connected',
    'Whether a socket is connected.',
    ['venue', 'slot'],
    perVenue(({ connector }, set, name) => {
      for (const { slot, connected } of connector.sockets)
        set(connected ? 1 : 0, name, String(slot))
    }),
  )
  metric(
    'quota_used_ratio',
    'The share of the upstream quota used in the current window.',
    ['venue'],
    perVenue(({ connector: { quota } }, set, name) => {
      if (quota !== undefined) set(quota.used / quota.limit, name)
    }),
  )
  metric(
    'quota_refused_total',
    'Requests that a venue refused for its quota.',
    ['venue'],
    perVenue(({ connector: { quota } }, set, name) => {
      if (quota !== undefined) set(quota.refused, name)
    }),
  )
  metric(
    'lag_seconds',
    'Time from receiving a message to its rows being durable.',
    ['quantile'],
    ({ recorder }, set) => {
      if (recorder === undefined) return
      set(recorder.lag.p50Ms / 1000, '0.5')
      set(recorder.lag.p99Ms / 1000, '0.99')
      set(recorder.lag.maxMs / 1000, '1')
    },
  )
  metric('disk_used_bytes', 'Bytes of the data folder.', [], ({ disk }, set) => set(disk.usedBytes))
  metric('disk_free_bytes', 'Bytes free for it.', [], ({ disk }, set) => set(disk.freeBytes))
  metric(
    'disk_full_in_seconds',
    'Seconds until the disk is full at the pace of the last minutes.',
    [],
    ({ disk }, set) => {
      if (disk.fullInSeconds !== undefined) set(disk.fullInSeconds)
    },
  )
  metric('disk_full', 'Whether nothing can be written now.', [], ({ recorder }, set) =>
    set(recorder?.diskFull === true ? 1 : 0),
  )
  const answers = 'Time from a request to its whole answer'
  metric(
    'api_requests_total',
    'Finished requests of the interface; 499 where the client went away.',
    ['route', 'status'],
    ({ api }, set) => {
      for (const [name, count] of Object.entries(api?.requests ?? {})) {
        const space = name.lastIndexOf(' ')
        set(count, name.slice(0, space), name.slice(space + 1))
      }
    },
  )
  metric('api_request_seconds_bucket', `${answers}, by upper bound.`, ['le'], ({ api }, set) => {
    if (api === undefined) return
    let count = 0
    for (const [index, one] of api.classes.entries()) {
      count += one
      set(count, String(ANSWER_SECONDS[index] ?? '+Inf'))
    }
  })
  metric('api_request_seconds_sum', `${answers}, all together.`, [], ({ api }, set) => {
    if (api !== undefined) set(api.seconds)
  })
  metric('api_request_seconds_count', `${answers}: how many.`, [], ({ api }, set) => {
    if (api !== undefined) set(api.classes.reduce((sum, count) => sum + count, 0))
  })
  metric('api_sent_bytes_total', 'Bytes of answers.', [], ({ api }, set) => {
    if (api !== undefined) set(api.bytes)
  })
  metric('api_processes', 'Processes that answer now.', [], ({ api }, set) => {
    if (api !== undefined) set(api.processes)
  })
  metric('api_memory_bytes', 'Their resident memory together.', [], ({ api }, set) => {
    if (api !== undefined) set(api.memoryBytes)
  })
  metric(
    'stream',
    'The live stream now: connections, subscriptions, and connections too slow for all rows.',
    ['what'],
    ({ api }, set) => {
      for (const [what, count] of Object.entries(api?.stream ?? {})) set(count, what)
    },
  )
  return registry
}
