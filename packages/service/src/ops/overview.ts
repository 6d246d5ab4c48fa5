import { printBytes, printSpan } from '@priorbook/sdk/command-line'
import { CAPTURE_TIERS, printMicros, type Micros } from '@priorbook/sdk/domain'
import type { LeaseState } from '../cluster/member.ts'
import { BYTE_KINDS, type ByteKind } from '../lib/byte-kind.ts'
import { markup, table, type Cell, type Html } from './html.ts'
import { toPage } from './page.ts'
import type { OpenGaps } from './open-gaps.ts'
import type { ServiceStatus } from './status.ts'

/** What the first page shows beside the status. */
export type OverviewParts = {
  readonly status: ServiceStatus
  /** How many gaps are open now, or why that is not known. */
  readonly gaps: OpenGaps | string
  /** Who may write a shared tape, or why that is not known; absent where the tape is not shared. */
  readonly leases?: LeaseState | string | undefined
}

/** The first page of the operators' port: what is recorded right now, and what needs attention. */
export function toOverview({ status, gaps, leases }: OverviewParts): string {
  const { recorder } = status
  const lag = recorder === undefined ? '' : ` · lag p99 ${recorder.lag.p99Ms.toFixed(1)} ms`
  const full = recorder?.diskFull === true ? ' · THE DISK IS FULL' : ''
  const body = markup`<p>${status.role} · upstream ${status.upstream}${lag}${full}</p>
${venuesPart(status)}
${gapsPart(gaps)}
${socketsPart(status)}
${tiersPart(status)}
${leasesPart(status, leases)}
${diskPart(status)}
${bytesPart(status)}
${filesPart(status)}
${apiPart(status)}
<p>As JSON: <a href="/status">/status</a>. For Prometheus: <a href="/metrics">/metrics</a>.</p>`
  return toPage('Priorbook recorder', body, { reloads: true, here: '/' })
}

function venuesPart({ recorder }: ServiceStatus): Html {
  const rows = Object.entries(recorder?.venues ?? {}).map(([venue, state]): Cell[] => {
    const { connector, books, counts, messages } = state
    const { quota, markets } = connector
    const used =
      quota === undefined ? '' : `${quota.used} of ${quota.limit} (${quota.refused} refused)`
    return [
      venue,
      connector.state,
      connector.detail,
      markets,
      `${books.open} of ${books.tracks}`,
      messages,
      counts.observations,
      counts.trades,
      counts.samples,
      counts.gaps,
      counts.quarantined,
      used,
    ]
  })
  const heads = ['venue', 'state', 'reason', 'markets', 'books open', 'messages', 'observations']
  heads.push('trades', 'samples', 'gaps', 'quarantined', 'quota')
  return table('Venues', heads, rows, 'This process does not record.')
}

function gapsPart(gaps: OpenGaps | string): Html {
  if (typeof gaps === 'string')
    return markup`<h2>Gaps now</h2>
<p>${gaps}</p>`
  const rows = gaps.map(({ venue, reason, count }): Cell[] => [
    markup`<a href="/gaps?venue=${venue}">${venue}</a>`,
    markup`<a href="/gaps?venue=${venue}&amp;reason=${reason}">${reason}</a>`,
    count,
  ])
  return table('Gaps now', ['venue', 'reason', 'open gaps'], rows, 'No book has an open gap.')
}

function socketsPart({ recorder }: ServiceStatus): Html | undefined {
  if (recorder === undefined) return undefined
  const now = Date.now()
  const rows = Object.entries(recorder.venues).flatMap(([venue, { connector }]) =>
    connector.sockets.map(({ slot, connected, subscriptions, lastFrame }): Cell[] => [
      venue,
      slot,
      connected ? 'connected' : 'not connected',
      subscriptions,
      lastFrame === undefined ? 'nothing yet' : `${printSpan(now - lastFrame / 1000)} ago`,
    ]),
  )
  const heads = ['venue', 'socket', 'state', 'subscriptions', 'last message']
  return table('Sockets', heads, rows, 'No venue has a socket.')
}

function tiersPart({ recorder }: ServiceStatus): Html | undefined {
  if (recorder === undefined) return undefined
  const rows = Object.entries(recorder.venues).flatMap(([venue, { connector }]) => {
    const { tiers } = connector
    return tiers === undefined ? [] : [[venue, ...CAPTURE_TIERS.map((tier) => tiers[tier])]]
  })
  const none = 'No venue has rules of selection.'
  return table('Markets by tier', ['venue', ...CAPTURE_TIERS], rows, none)
}

function leasesPart({ shared }: ServiceStatus, leases: OverviewParts['leases']): Html | undefined {
  if (shared === undefined) return undefined
  const { part, holder, last, sent, commit, trouble } = shared
  const place = part === 'writer' ? `commit ${sent} of ${last} sent` : `commit ${commit ?? 0}`
  const why = trouble === undefined ? '' : ` · ${trouble}`
  const own = markup`<p>This process: ${part}, ${place}; written by ${holder}${why}</p>`
  if (leases === undefined || typeof leases === 'string') {
    return markup`<h2>Shared tape</h2>
${own}
<p>${leases ?? ''}</p>`
  }
  const { epoch, leaseMs, standbys } = leases
  const rest = leaseMs > 0 ? `for ${printSpan(leaseMs)} more` : `ran out ${printSpan(-leaseMs)} ago`
  const writer = leases.holder === '' ? 'nobody' : leases.holder
  const rows: Cell[][] = [[writer, 'writes the tape', `epoch ${epoch}, ${rest}`]]
  for (const { name, venues, readyMs } of standbys) {
    rows.push([name, 'stands by', `ready for ${venues.join(', ')} for ${printSpan(readyMs)} more`])
  }
  return markup`${table('Shared tape', ['member', 'part', 'lease'], rows, '')}${own}`
}

function diskPart({ disk, retention, cold }: ServiceStatus): Html {
  const { usedBytes, freeBytes, bytesPerSecond, fullInSeconds } = disk
  const pace =
    bytesPerSecond === 0 ? 'does not grow' : `grows by ${printBytes(bytesPerSecond * 86_400)} a day`
  const forecast = fullInSeconds === undefined ? '' : `, full ${when(fullInSeconds)}`
  const rows = retention.map(({ venue, tier, limit, keptBytes, oldest, removedBytes }): Cell[] => [
    venue,
    tier,
    printBytes(keptBytes),
    [
      ...(limit.bytes === undefined ? [] : [printBytes(limit.bytes)]),
      ...(limit.ageMicros === undefined ? [] : [printSpan(limit.ageMicros / 1000)]),
    ].join(', '),
    oldest === undefined ? '' : printMicros(oldest as Micros).slice(0, 16),
    printBytes(removedBytes),
  ])
  const heads = ['venue', 'data', 'kept', 'limit', 'oldest', 'removed']
  return markup`<h2>Disk</h2>
<p>${printBytes(usedBytes)} kept · ${printBytes(freeBytes)} free · the data folder ${pace}${forecast}</p>
${coldPart(cold)} ${rows.length === 0 ? undefined : table('Retention', heads, rows, '')}`
}

function bytesPart({ bytes: kinds }: ServiceStatus): Html | undefined {
  if (kinds === undefined) return undefined
  const { bytes, observations, bytesPerObservation } = kinds
  const rows = Object.entries(BYTE_KINDS).map(([kind, what]): Cell[] => [
    kind,
    what,
    printBytes(bytes[kind as ByteKind]),
  ])
  const each =
    bytesPerObservation === undefined
      ? undefined
      : markup`<p>${bytesPerObservation.toFixed(2)} bytes for each of ${observations} observations</p>`
  return markup`${table('Bytes by kind', ['kind', 'what', 'bytes'], rows, '')}${each}`
}

function coldPart(cold: ServiceStatus['cold']): Html | undefined {
  if (cold === undefined) return undefined
  const { files, bytes } = cold.journal
  const there = `${cold.chunks} chunks, ${printBytes(cold.bytes)}; ${files} files of the journal, ${printBytes(bytes)}`
  const trouble = cold.trouble === undefined ? '' : ` · moving fails: ${cold.trouble}`
  return markup`<p>In ${cold.address}: ${there}${trouble}</p>`
}

function filesPart({ files }: ServiceStatus): Html | undefined {
  if (files === undefined) return undefined
  const refused = files.refused.map(
    ({ file, code, detail }) => markup`<li>${file}: ${code}: ${detail}</li>`,
  )
  return markup`<h2>${files.files} files served, ${refused.length} refused</h2>
<ul>${refused}</ul>`
}

function apiPart({ api }: ServiceStatus): Html | undefined {
  if (api === undefined) return undefined
  const classes = [0, 0, 0, 0, 0, 0]
  for (const [name, count] of Object.entries(api.requests)) {
    classes[Number(name.slice(name.lastIndexOf(' ') + 1, -2))]! += count
  }
  const { connections, subscriptions, held } = api.stream
  const done = `${api.processes} processes · ${classes[2]! + classes[3]!} requests answered, ${classes[4]} refused, ${classes[5]} failed`
  const now = `${connections} stream connections, ${subscriptions} subscriptions, ${held} of them too slow now`
  return markup`<h2>Interface</h2>
<p>${done} · ${printBytes(api.bytes)} sent · ${printBytes(api.memoryBytes)} of memory<br>${now}</p>`
}

function when(inSeconds: number): string {
  const ms = Date.now() + inSeconds * 1000
  const date = ms < MAX_MS ? ` (${new Date(ms).toISOString().slice(0, 16)}Z)` : ''
  return `in ${printSpan(inSeconds * 1000)}${date}`
}

// Dates after the year 9999 say nothing.
const MAX_MS = 253_402_300_800_000
