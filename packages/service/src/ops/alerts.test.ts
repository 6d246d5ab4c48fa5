import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { toAlertsPage, toRules } from './alert-files.ts'
import { ALERTS } from './alerts.ts'
import { METRICS } from './metrics.ts'
import { namesIn } from './promql-names.testing.ts'
import { parseScrape } from './scrape.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

describe('the alerts', () => {
  it('are the same in the rules, the docs, the tests of promtool and the code', () => {
    expect(read('deploy/prometheus/priorbook.rules.yml')).toBe(toRules(ALERTS))
    expect(read('docs/operate/alerts.md')).toBe(toAlertsPage(ALERTS))
    const names = ALERTS.map(({ name }) => name)
    const tested = read('deploy/prometheus/priorbook.tests.yml').matchAll(/^ {2}- name: (\w+)$/gm)
    expect([...tested].map(([, name]) => name)).toEqual(names)
    expect(new Set(names).size).toBe(names.length)
  })

  it('name only metrics and labels that there are', () => {
    const known = new Map<string, readonly string[]>()
    for (const { name, kind, labels } of METRICS) {
      known.set(name, labels)
      if (kind === 'histogram' || kind === 'summary') {
        for (const suffix of ['_bucket', '_sum', '_count']) known.set(name + suffix, labels)
      }
    }
    for (const { name, condition } of ALERTS) {
      const { series, labels } = namesIn(condition.promql)
      expect([name, series.filter((one) => !known.has(one))]).toEqual([name, []])
      const own = new Set(['instance', 'job', ...series.flatMap((one) => known.get(one)!)])
      expect([name, labels.filter((label) => !own.has(label))]).toEqual([name, []])
    }
  })
})

/** Metrics before and now, and the series that an alert fires for. */
const CASES: Readonly<Record<string, readonly [before: string, now: string, fires: string[]]>> = {
  PriorbookRecorderDown: ['', 'priorbook_recorder_up 0', ['']],
  PriorbookVenueNotRecording: [
    '',
    'priorbook_venue_recording{venue="a"} 0\npriorbook_venue_recording{venue="b"} 1',
    ['a'],
  ],
  PriorbookVenueStale: [
    '',
    'priorbook_newest_row_age_seconds{venue="a",kind="observations"} 301\npriorbook_newest_row_age_seconds{venue="b",kind="trades"} 999',
    ['a'],
  ],
  PriorbookBooksMissing: [
    '',
    'priorbook_books_missing{venue="a"} 11\npriorbook_books_missing{venue="b"} 11\npriorbook_books{venue="a",state="held"} 100\npriorbook_books{venue="b",state="held"} 110\npriorbook_books{venue="b",state="open"} 1',
    ['a'],
  ],
  PriorbookGapOld: ['', 'priorbook_oldest_gap_age_seconds{venue="a"} 3601', ['a']],
  PriorbookClockOff: ['', 'priorbook_clock_offset_seconds{venue="a"} -5.1', ['a']],
  PriorbookQuotaUsed: ['', 'priorbook_quota_used_ratio{venue="a"} 0.96', ['a']],
  PriorbookQuotaRefused: [
    'priorbook_quota_refused_total{venue="a"} 3\npriorbook_quota_refused_total{venue="b"} 3',
    'priorbook_quota_refused_total{venue="a"} 4\npriorbook_quota_refused_total{venue="b"} 3',
    ['a'],
  ],
  PriorbookQuarantine: [
    'priorbook_quarantined_total{venue="a"} 3\npriorbook_quarantined_total{venue="b"} 7',
    'priorbook_quarantined_total{venue="a"} 3\npriorbook_quarantined_total{venue="b"} 8',
    ['b'],
  ],
  PriorbookLag: [
    '',
    'priorbook_lag_seconds{quantile="0.99"} 1.5\npriorbook_lag_seconds{quantile="1"} 9',
    [''],
  ],
  PriorbookDiskFull: ['', 'priorbook_disk_full 1', ['']],
  PriorbookDiskLow: ['', 'priorbook_disk_free_bytes 1999999999', ['']],
  PriorbookDiskFullSoon: ['', 'priorbook_disk_full_in_seconds 86399', ['']],
  PriorbookApiDown: ['', 'priorbook_api_processes 0', ['']],
  PriorbookApiErrors: [
    'priorbook_api_requests_total{route="x",status="200"} 1000\npriorbook_api_requests_total{route="x",status="500"} 900',
    'priorbook_api_requests_total{route="x",status="200"} 1098\npriorbook_api_requests_total{route="x",status="500"} 902',
    [''],
  ],
  PriorbookApiSlow: [
    '',
    'priorbook_api_request_seconds_bucket{route="x",class="2xx",le="1"} 94\npriorbook_api_request_seconds_bucket{route="x",class="2xx",le="5"} 100\npriorbook_api_request_seconds_count{route="x",class="2xx"} 100\npriorbook_api_request_seconds_count{route="x",class="4xx"} 900',
    [''],
  ],
  PriorbookStreamSlow: ['', 'priorbook_stream_slow_connections 1', ['']],
  PriorbookColdFailing: ['', 'priorbook_cold_failing 1', ['']],
  PriorbookSharedFailing: ['', 'priorbook_shared_failing 1', ['']],
}

// The same metrics in a state in which nothing fires.
const CALM = `priorbook_recorder_up 1
priorbook_venue_recording{venue="a"} 1
priorbook_newest_row_age_seconds{venue="a",kind="observations"} 300
priorbook_books_missing{venue="a"} 10
priorbook_books{venue="a",state="held"} 100
priorbook_oldest_gap_age_seconds{venue="a"} 3600
priorbook_clock_offset_seconds{venue="a"} 5
priorbook_quota_used_ratio{venue="a"} 0.95
priorbook_quota_refused_total{venue="a"} 5
priorbook_quarantined_total{venue="a"} 5
priorbook_lag_seconds{quantile="0.99"} 1
priorbook_disk_full 0
priorbook_disk_free_bytes 2000000000
priorbook_disk_full_in_seconds 86400
priorbook_api_processes 1
priorbook_api_requests_total{route="x",status="200"} 5
priorbook_api_requests_total{route="x",status="500"} 5
priorbook_api_request_seconds_bucket{route="x",class="2xx",le="1"} 1
priorbook_api_request_seconds_count{route="x",class="2xx"} 5
priorbook_stream_slow_connections 0
priorbook_cold_failing 0
priorbook_shared_failing 0
`

describe('what the doctor says would fire', () => {
  const judged = ALERTS.filter(({ condition }) => condition.judge !== undefined)

  it.each(judged)('$name fires when its condition holds', ({ name, condition }) => {
    const [before, now, fires] = CASES[name]!
    const firing = condition.judge!(parseScrape(now), parseScrape(before))
    expect(firing.map(({ labels }) => labels['venue'] ?? '')).toEqual(fires)
  })

  it('is nothing at the bounds, nor for totals that do not grow', () => {
    const calm = parseScrape(CALM)
    const firing = judged.flatMap(({ name, condition }) =>
      condition.judge!(calm, calm).map(() => name),
    )
    expect(firing).toEqual([])
    // Every judged metric is in that state, or this would say nothing.
    const named = judged.flatMap(({ condition }) => namesIn(condition.promql).series)
    expect(named.filter((series) => !calm.has(series))).toEqual([])
  })

  it('reads labels with any characters', () => {
    const { labels } = parseScrape('m{a="x\\"y\\\\z\\n}",b=""} 1e3').get('m')![0]!
    expect(labels).toEqual({ a: 'x"y\\z\n}', b: '' })
    expect(() => parseScrape('<html>')).toThrow('not a line of metrics')
  })
})
