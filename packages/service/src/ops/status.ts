import { VENUES, type VenueId } from '@priorbook/sdk/domain'
import type { ApiTally } from '../lib/api-tally.ts'
import type { RecorderStatus } from '../recorder/recorder.ts'
import type { DiskState } from './disk-forecast.ts'
import type { MemberStatus } from '../cluster/member.ts'
import type { ByteKinds } from '../retention/byte-kinds.ts'
import type { ColdState } from '../retention/cold-mover.ts'
import type { TierState } from '../retention/keeper.ts'

/** The state of the service right now. */
export type ServiceStatus = {
  readonly role: string
  readonly upstream: string
  readonly disk: DiskState
  /** What is stored, by kind; absent where this process does not record, and before the first survey. */
  readonly bytes?: ByteKinds | undefined
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
