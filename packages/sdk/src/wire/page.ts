import type { VenueId } from '../domain/index.ts'
import type { BookPick, BookRun } from '../tape/index.ts'
import type { TimeFormat } from './time-text.ts'

/** The identity that every row of one instrument carries; absent is null on the wire. */
export type BookContext = {
  readonly venue: VenueId
  /** The instrument's key, the middle of every row id. */
  readonly key: string
  readonly marketId: string
  readonly conditionId?: string | undefined
  readonly eventId?: string | undefined
  readonly seriesTicker?: string | undefined
  readonly outcome?: string | undefined
  readonly tokenId?: string | undefined
}

/** How a page is written. */
export type BookPageOptions = {
  /** False renders no ladders and makes no ladder text. */
  readonly ladders: boolean
  /** Max levels per side; the level counts of a row stay those of the whole book. */
  readonly depth?: number | undefined
  /** `string` puts prices and sizes into quotes; counts and numbers of rows stay numbers. */
  readonly numberFormat?: 'number' | 'string' | undefined
  readonly timeFormat?: TimeFormat | undefined
  /** `desc` gives the newest row first; the runs still come oldest first. */
  readonly order?: 'asc' | 'desc' | undefined
  /** CSV only: false leaves the header line out, for the later parts of one file. */
  readonly header?: boolean | undefined
}

/**
 * A part of a page. `lane` says which of the page's contexts it belongs to (0 when absent). The
 * parts of one lane come in order of their sequence; their columns must hold venue numbers.
 */
export type BookPart = (BookRun | BookPick) & { readonly lane?: number | undefined }
