import { VENUES, type VenueId } from '@priorbook/sdk/domain'
import type { ApiTally } from '../lib/api-tally.ts'
import type { RecorderStatus } from '../recorder/recorder.ts'
import type { DiskState } from './disk-forecast.ts'
import type { MemberStatus } from '../cluster/member.ts'
import type { ColdState } from '../retention/cold-mover.ts'
import type { TierState } from '../retention/keeper.ts'

/** The state of the service right now. */
export type ServiceStatus = {
  readonly role: string
  readonly upstream: string
  readonly disk: DiskState
  /** What retention keeps and removed; empty where no limit is set or this process does not record. */
  readonly retention: readonly TierState[]
  /** What is in other storage; absent where none is configured. */
  readonly cold?: ColdState | undefined
  readonly shared?: MemberStatus | undefined
  /** Absent where this process does not record. */
  readonly recorder?: RecorderStatus
  /** Absent where this service does not serve the API, or not yet. */
  readonly api?: ApiTally
  /** The downloaded files that are served instead of a tape, and those that were refused. */
  readonly files?: {
    readonly files: number
    readonly refused: readonly {
      readonly file: string
      readonly code: string
      readonly detail: string
    }[]
  }
}

/** One line for a terminal: what is being recorded right now, in the longest form that fits into its width. */
export function toStatusLine(status: ServiceStatus, perSecond: number, width: number): string {
  const { recorder, files } = status
  if (files !== undefined) {
    return `serving ${files.files} files, ${files.refused.length} refused`.slice(0, width)
  }
  if (recorder === undefined) return 'not recording'
  const full = recorder.diskFull ? 'DISK FULL · ' : ''
  const rate = `${perSecond.toFixed(0)} msg/s`
  const lag = `lag p99 ${recorder.lag.p99Ms.toFixed(0)} ms`
  const venues = (form: (books: number, rows: string) => string): string =>
    Object.entries(recorder.venues)
      .map(([venue, { connector, books, counts }]) => {
        const name = VENUES[venue as VenueId].label.replace('Venue ', '')
        if (connector.state === 'no_credentials') return `${name} no credentials`
        const trouble = connector.state === 'recording' ? '' : ` ${connector.state}`
        return `${name}${trouble} ${form(books.open, short(counts.observations))}`
      })
      .join(' · ')
  const forms = [
    `${full}${venues((books, rows) => `${books} books ${rows} rows`)} · ${rate}, ${lag}`,
    `${full}${venues((books, rows) => `${books} books ${rows}`)} · ${rate}, ${lag}`,
    `${full}${venues((books) => `${books} books`)} · ${rate}, ${lag}`,
    `${full}${venues((books) => String(books))} books · ${rate}`,
  ]
  return forms.find((form) => form.length <= width) ?? forms.at(-1)!.slice(0, width)
}

function short(count: number): string {
  if (count < 10_000) return String(count)
  return count < 10_000_000 ? `${Math.round(count / 1000)}k` : `${Math.round(count / 1e6)}M`
}

/** The status as a page that reloads itself. */
export function toStatusPage(status: ServiceStatus): string {
  const { recorder, disk, files, api } = status
  const rows = Object.entries(recorder?.venues ?? {}).map(([venue, state]) => {
    const { connector, books, counts, messages } = state
    const { quota } = connector
    const used =
      quota === undefined ? '' : `${quota.used} of ${quota.limit} (${quota.refused} refused)`
    const cells = [
      venue,
      connector.state,
      connector.detail,
      `${books.open} of ${books.tracks}`,
      connector.sockets.filter(({ connected }) => connected).length,
      messages,
      counts.observations,
      counts.trades,
      counts.samples,
      counts.gaps,
      counts.quarantined,
      used,
    ]
    return `<tr>${cells.map((cell) => `<td>${escape(String(cell))}</td>`).join('')}</tr>`
  })
  const heads = [
    'venue',
    'state',
    '',
    'books open',
    'sockets',
    'messages',
    'observations',
    'trades',
    'samples',
    'gaps',
    'quarantined',
    'quota',
  ]
  const lag = recorder === undefined ? '' : `lag p99 ${recorder.lag.p99Ms.toFixed(1)} ms · `
  const left =
    disk.fullInSeconds === undefined
      ? ''
      : ` · full in ${(disk.fullInSeconds / 86_400).toFixed(1)} days`
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<title>Priorbook recorder</title>
<style>body{font:14px/1.5 system-ui,sans-serif;margin:2rem;color:#222;background:#fff}
table{border-collapse:collapse}td,th{padding:.3rem .8rem;border-bottom:1px solid #ddd;text-align:right}
td:nth-child(-n+3),th:nth-child(-n+3){text-align:left}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#111}td,th{border-color:#333}}</style>
<h1>Priorbook recorder</h1>
<p>${escape(status.role)} · upstream ${escape(status.upstream)} · ${lag}${(disk.usedBytes / 1e6).toFixed(1)} MB kept · ${(disk.freeBytes / 1e9).toFixed(1)} GB free${left}</p>
<table><thead><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr></thead>
<tbody>${rows.join('')}</tbody></table>${coldPart(status.cold)}${sharedPart(status.shared)}${filesPart(files)}${apiPart(api)}</html>`
}

function sharedPart(shared: ServiceStatus['shared']): string {
  if (shared === undefined) return ''
  const { part, holder, last, sent, commit, trouble } = shared
  const place = part === 'writer' ? `commit ${sent} of ${last} sent` : `commit ${commit ?? 0}`
  const why = trouble === undefined ? '' : ` · ${trouble}`
  return `<p>shared tape: ${escape(`${part}, ${place}; written by ${holder}${why}`)}</p>`
}

function coldPart(cold: ServiceStatus['cold']): string {
  if (cold === undefined) return ''
  const { files, bytes } = cold.journal
  const journal = `${files} files of the journal, ${(bytes / 1e6).toFixed(1)} MB`
  const there = `${cold.chunks} chunks, ${(cold.bytes / 1e6).toFixed(1)} MB; ${journal}`
  const trouble = cold.trouble === undefined ? '' : ` · moving fails: ${cold.trouble}`
  return `<p>in ${escape(`${cold.address}: ${there}${trouble}`)}</p>`
}

function filesPart(files: ServiceStatus['files']): string {
  if (files === undefined) return ''
  const refused = files.refused.map(
    ({ file, code, detail }) => `<li>${escape(`${file}: ${code}: ${detail}`)}</li>`,
  )
  return `<h2>${files.files} files served, ${refused.length} refused</h2><ul>${refused.join('')}</ul>`
}

function apiPart(api: ServiceStatus['api']): string {
  if (api === undefined) return ''
  const classes = [0, 0, 0, 0, 0, 0]
  for (const [name, count] of Object.entries(api.requests)) {
    classes[Number(name.slice(name.lastIndexOf(' ') + 1, -2))]! += count
  }
  const { connections, subscriptions, held } = api.stream
  const done = `${api.processes} processes · ${classes[2]! + classes[3]!} requests answered, ${classes[4]} refused, ${classes[5]} failed`
  const now = `${connections} stream connections, ${subscriptions} subscriptions, ${held} of them too slow now`
  return `<h2>Interface</h2><p>${done} · ${(api.bytes / 1e6).toFixed(1)} MB sent · ${(api.memoryBytes / 1e6).toFixed(0)} MB of memory<br>${now}</p>`
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
