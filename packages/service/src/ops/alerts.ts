import {
  growthOf,
  promqlOnly,
  requestShare,
  sizeOf,
  slowShare,
  valueOf,
  venueShare,
  type Condition,
} from './alert-conditions.ts'

/** An alert: when it fires, what that means, and what an operator does then. */
export type Alert = {
  readonly name: string
  /** `page`: data are being lost or cannot be read. `ticket`: that is to be expected soon. */
  readonly severity: 'page' | 'ticket'
  readonly condition: Condition
  /** How long the condition has to hold, as Prometheus writes it. */
  readonly for: string
  /** One sentence; `{{ $labels.NAME }}` and `{{ $value … }}` are filled in by Prometheus. */
  readonly summary: string
  readonly meaning: string
  /** What to do, in this order. */
  readonly steps: readonly string[]
}

// Long by nature: downloads, replays and pages of the explorer.
const LONG_ROUTES = 'bulk.*|replay.*|explorer|mcp'

/** All alerts. The rules for Prometheus and their page in the docs are written from here by `npm run alerts`. */
export const ALERTS: readonly Alert[] = [
  {
    name: 'PriorbookDown',
    severity: 'page',
    condition: promqlOnly('up{job="priorbook"} == 0'),
    for: '2m',
    summary: 'Priorbook on {{ $labels.instance }} does not answer.',
    meaning:
      'Prometheus cannot read the metrics. The process has ended, hangs, or its port cannot be reached. If it has ended, nothing is recorded, and the time until its next start becomes a gap `recorder_down`.',
    steps: [
      'Look whether the process runs and what its log says last: `systemctl status priorbook`, `journalctl -u priorbook -n 50` (units of a shared tape: `priorbook-recorder`, `priorbook-node`).',
      'If it runs, fetch `/metrics` on its machine. An answer 421 means that the name in the address is missing in `ops.names`.',
      'If it does not start, run `priorbook-server doctor` on its data folder, and do what it says.',
    ],
  },
  {
    name: 'PriorbookRecorderDown',
    severity: 'page',
    condition: valueOf('priorbook_recorder_up', {}, ['==', 0]),
    for: '5m',
    summary: 'The process on {{ $labels.instance }} runs, but does not record.',
    meaning:
      'A recorder of a shared tape waits: another one is the writer, and this one does not record beside it. If no other recorder writes, PriorbookNoWriter fires too.',
    steps: [
      'Read `shared` in `/status`: it names the writer and what goes wrong.',
      'With `standby` set to `wait` this is normal for the second recorder: silence the alert for it.',
      'Otherwise look for "stands by without recording" in the log, which gives the reason.',
    ],
  },
  {
    name: 'PriorbookVenueNotRecording',
    severity: 'page',
    condition: valueOf('priorbook_venue_recording', {}, ['==', 0]),
    for: '5m',
    summary: '{{ $labels.venue }} is not recorded without trouble on {{ $labels.instance }}.',
    meaning:
      'The connector of the venue is starting, degraded or without credentials. Some or all of its books may be in a gap; venue B without a key is polled. It goes on trying; nothing has to be restarted once the cause is gone.',
    steps: [
      'Read the state and its reason: `connector` of the venue in `/status`, or the row of the venue on the status page.',
      '`no_credentials`: set the key of the venue in the configuration, or turn the venue off, and start again. To go on polling venue B without a key, silence the alert for it.',
      '"sockets are not connected" or failing requests: try the address of the venue from this machine. A firewall, a proxy, DNS or the venue itself refuses.',
      'If other machines reach the venue, look for status 401, 403 or 429 in the log: a revoked key or a blocked address.',
    ],
  },
  {
    name: 'PriorbookVenueStale',
    severity: 'page',
    condition: valueOf('priorbook_newest_row_age_seconds', { kind: 'observations' }, ['>', 300]),
    for: '1m',
    summary: 'No book of {{ $labels.venue }} was stored for {{ $value | humanizeDuration }}.',
    meaning:
      'Nothing that arrived from the venue became a row of a book. The venue is down or silent, has no open market, or its messages cannot be read any more.',
    steps: [
      'Compare `priorbook_messages_total` and `priorbook_quarantined_total` of the venue. Messages that come and go into quarantine: see PriorbookQuarantine.',
      'No messages: see PriorbookVenueNotRecording. The status page of the venue may tell of a maintenance.',
      'Messages, but no books: look at `priorbook_tier_markets`. With no market in tier `full` or `polled` the rules of selection exclude all of them: `priorbook-server select` shows why.',
    ],
  },
  {
    name: 'PriorbookBooksMissing',
    severity: 'ticket',
    condition: venueShare('priorbook_books_missing', ['priorbook_books', { state: 'held' }], 0.1),
    for: '10m',
    summary: '{{ $value | humanizePercentage }} of the books of {{ $labels.venue }} are in a gap.',
    meaning:
      'Books that should be recorded are closed since a message was lost, and full books to go on with do not come.',
    steps: [
      'See the reasons: `/gaps?venue=VENUE` on the operators’ port, or `priorbook_gap_seconds_total` by `reason`.',
      '`quota`: see PriorbookQuotaUsed. `disconnected`: see PriorbookVenueNotRecording. `rejected`: see PriorbookQuarantine.',
      '`venue_silent` and `sequence_break` of many books at once are a fault of the venue or of the network between. If they stay, note the time and the journal records, which are kept, and ask the venue.',
    ],
  },
  {
    name: 'PriorbookGapOld',
    severity: 'ticket',
    condition: valueOf('priorbook_oldest_gap_age_seconds', {}, ['>', 3600]),
    for: '10m',
    summary: 'A book of {{ $labels.venue }} is in a gap for {{ $value | humanizeDuration }}.',
    meaning:
      'One book at least does not come back, though its market is open and selected. Its history has a hole that grows.',
    steps: [
      'Find the book: `/gaps?venue=VENUE` on the operators’ port lists open gaps with market and reason, the oldest first.',
      'Ask the venue for this book by hand. If the venue does not answer for it, the market was removed there: retention or the resolution of the market will end it.',
      'If the venue answers, restart the recorder, and report the gap with the journal record that it names.',
    ],
  },
  {
    name: 'PriorbookClockOff',
    severity: 'ticket',
    condition: sizeOf('priorbook_clock_offset_seconds', 5),
    for: '10m',
    summary:
      'The clock of {{ $labels.instance }} differs from that of {{ $labels.venue }} by {{ $value }} s.',
    meaning:
      'Received times are by our clock, so rows of this time cannot be compared with those of other recorders. Signed requests may be refused.',
    steps: [
      'Run `timedatectl` (or `chronyc tracking`): "System clock synchronized: no" needs a time service, such as `apt-get install chrony`.',
      'If the machine is synchronized and only one venue differs, its clock is wrong. The recorded `clock_offset_us` says by how much, and when.',
      'A step backward is harmless: rows keep their order and have the flag `clock_step`.',
    ],
  },
  {
    name: 'PriorbookQuotaUsed',
    severity: 'ticket',
    condition: valueOf('priorbook_quota_used_ratio', {}, ['>', 0.95]),
    for: '15m',
    summary: '{{ $value | humanizePercentage }} of the quota of {{ $labels.venue }} are used.',
    meaning:
      'Requests wait for their turn, so polled books come late, and books in a gap wait for their full book.',
    steps: [
      'Look at `priorbook_tier_markets`: fewer markets in tier `polled` need fewer requests. The rules are `VENUE.select` of the configuration; SIGHUP reads them again.',
      'Another program with the same key or address uses the quota too: give it a key of its own.',
      'With a higher limit agreed with the venue, raise the setting of the quota.',
    ],
  },
  {
    name: 'PriorbookQuotaRefused',
    severity: 'ticket',
    condition: growthOf('priorbook_quota_refused_total', '10m'),
    for: '10m',
    summary: '{{ $labels.venue }} refuses requests for its quota.',
    meaning:
      'The venue counts more requests than we do (status 429). It may block the address if that goes on.',
    steps: [
      'Look for another program that uses the same key or address, such as a second recorder or a backfill.',
      'If there is none, the venue lowered its limit: set the quota of the venue below the new one.',
    ],
  },
  {
    name: 'PriorbookQuarantine',
    severity: 'ticket',
    condition: growthOf('priorbook_quarantined_total', '15m'),
    for: '15m',
    summary: 'Messages of {{ $labels.venue }} cannot be read and go into quarantine.',
    meaning:
      'The venue sends something that this version does not know or that contradicts itself. The raw bytes are kept, so nothing is lost for good: a later version derives the rows with `rebuild`.',
    steps: [
      'See which and why: `priorbook-server doctor` prints the first, the page of operators all of them.',
      'Look for a newer version that knows the format, install it, stop the recorder, and run `rebuild --adopt`.',
      'If there is none, report the code, the detail and the raw bytes.',
    ],
  },
  {
    name: 'PriorbookLag',
    severity: 'ticket',
    condition: valueOf('priorbook_lag_seconds', { quantile: '0.99' }, ['>', 1]),
    for: '5m',
    summary: 'Messages on {{ $labels.instance }} become durable after {{ $value }} s.',
    meaning:
      'The recorder falls behind: the disk is slow to sync, the CPU is taken, or a reader holds the write-ahead log. Received times are stamped before, so they stay right; live subscribers get rows late.',
    steps: [
      'CPU: `top`. The recorder needs a core of its own; lower `api.workers`, or move what else runs there.',
      'Disk: `iostat -x 1`. Use a local SSD, not a network disk.',
      '`priorbook-server doctor` names a write-ahead log that grows: end the reader that holds it, such as a backup that hangs.',
    ],
  },
  {
    name: 'PriorbookDiskFull',
    severity: 'page',
    condition: valueOf('priorbook_disk_full', {}, ['==', 1]),
    for: '0s',
    summary: 'The disk of {{ $labels.instance }} is full: nothing is recorded.',
    meaning:
      'Messages are counted and dropped until there is space. What is stored can still be read. Recording goes on by itself, with gaps `disk_full`.',
    steps: [
      'Make space now: delete other files on the disk, or enlarge it. Never delete files of the data folder by hand.',
      'Then set limits: the settings `retention.*` remove the oldest data, `cold.address` moves them to other storage.',
    ],
  },
  {
    name: 'PriorbookDiskLow',
    severity: 'page',
    condition: valueOf('priorbook_disk_free_bytes', {}, ['<', 2_000_000_000]),
    for: '5m',
    summary: 'Only {{ $value | humanize1024 }}B of disk are free on {{ $labels.instance }}.',
    meaning: 'Recording stops when the disk is full.',
    steps: [
      'See PriorbookDiskFull: make space, then set limits.',
      '`priorbook_disk_full_in_seconds` says how long it lasts at the present pace.',
    ],
  },
  {
    name: 'PriorbookDiskFullSoon',
    severity: 'ticket',
    condition: valueOf('priorbook_disk_full_in_seconds', {}, ['<', 86_400]),
    for: '1h',
    summary: 'The disk of {{ $labels.instance }} is full in {{ $value | humanizeDuration }}.',
    meaning: 'At the pace of the last ten minutes the disk lasts for less than a day.',
    steps: [
      'A backfill or an import fills it for a while: wait for its end if there is space enough.',
      'Otherwise see PriorbookDiskFull: enlarge the disk or set limits.',
    ],
  },
  {
    name: 'PriorbookApiDown',
    severity: 'page',
    condition: valueOf('priorbook_api_processes', {}, ['==', 0]),
    for: '2m',
    summary: 'No worker of the API runs on {{ $labels.instance }}.',
    meaning: 'Workers end as soon as they start. Recording goes on, but nothing can be read.',
    steps: [
      'The log says with which code a worker exited; look at the lines before it.',
      'Killed by the kernel (`journalctl -k | grep -i oom`): lower `api.workers` or `api.cacheMb`, or add memory.',
      'Run `priorbook-server doctor`: it names a damaged tape or control file.',
    ],
  },
  {
    name: 'PriorbookApiErrors',
    severity: 'page',
    condition: requestShare('5..', '5m', 0.01),
    for: '5m',
    summary: '{{ $value | humanizePercentage }} of the requests to {{ $labels.instance }} fail.',
    meaning: 'More than one request in a hundred is answered with a status of 500 or more.',
    steps: [
      'See which: `sum by (route, status) (rate(priorbook_api_requests_total{status=~"5.."}[5m]))`.',
      '500: the log has "a request failed" with route and stack. Report it.',
      '503: the store or other storage does not answer; see PriorbookColdFailing and PriorbookSharedFailing. 504 or 502 come from a proxy in front.',
    ],
  },
  {
    name: 'PriorbookApiSlow',
    severity: 'ticket',
    condition: slowShare(LONG_ROUTES, 1, '5m', 0.05),
    for: '10m',
    summary:
      '{{ $value | humanizePercentage }} of the requests to {{ $labels.instance }} take over a second.',
    meaning: 'More than five answers in a hundred take longer than a second, downloads aside.',
    steps: [
      'See which: `histogram_quantile(0.95, sum by (route, le) (rate(priorbook_api_request_seconds_bucket[5m])))`.',
      'All routes: the CPU is taken or memory is short. Raise `api.workers` up to the number of cores, `api.cacheMb` where pages read old data.',
      'One route: large pages. Clients that need whole days should download them instead.',
    ],
  },
  {
    name: 'PriorbookStreamSlow',
    severity: 'ticket',
    condition: valueOf('priorbook_stream_slow_connections', {}, ['>', 0]),
    for: '15m',
    summary: '{{ $value }} live connections of {{ $labels.instance }} are too slow for all rows.',
    meaning:
      'These clients do not read as fast as rows come, so rows are left out for them (`resync`). Others are not affected.',
    steps: [
      'These clients have to read faster, subscribe to less, use a lower depth, or set `conflate_ms`.',
      'If all are slow, the network of this machine is the limit.',
    ],
  },
  {
    name: 'PriorbookColdFailing',
    severity: 'ticket',
    condition: valueOf('priorbook_cold_failing', {}, ['==', 1]),
    for: '1h',
    summary: 'Chunks of {{ $labels.instance }} cannot be moved to other storage.',
    meaning:
      'What should move stays on this disk, which fills. Requests for rows that are there may get 503. Nothing is lost.',
    steps: [
      'Read `cold.trouble` in `/status`.',
      'Run `priorbook-server doctor` with the same variables: it says whether the storage can be read. Check bucket, key, region and the clock of this machine.',
    ],
  },
  {
    name: 'PriorbookSharedFailing',
    severity: 'page',
    condition: valueOf('priorbook_shared_failing', {}, ['==', 1]),
    for: '2m',
    summary: 'The shared tape cannot be written or followed by {{ $labels.instance }}.',
    meaning:
      'A writer keeps its commits and sends them later. A node serves what it has, which gets older.',
    steps: [
      'Read `shared.trouble` in `/status`.',
      'Check the database: does it answer, is its disk full, did a password change?',
    ],
  },
  {
    name: 'PriorbookNoWriter',
    severity: 'page',
    condition: promqlOnly('max(priorbook_shared_writer) == 0'),
    for: '2m',
    summary: 'No recorder writes the shared tape.',
    meaning: 'No recorder has the lease of the shared tape: nothing is being recorded.',
    steps: [
      'Start a recorder: `serve --upstream live --role capture` with the address of the tape.',
      'If one runs, its log says why it does not take the lease.',
    ],
  },
]
