import type { VenueId } from '../domain/index.ts'
import type { BookPick, BookRun } from '../tape/index.ts'
import type { TimeFormat } from './value-text.ts'

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
  /** True sends the levels beyond the venue's limit too: changes that follow are of the whole book. */
  readonly allLevels?: boolean | undefined
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

const encoder = new TextEncoder()

/** The bytes of one page. It grows, is used again for the next page, and never shrinks. */
export class PageBuffer {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(1 << 16)
  /** Where the next row begins. */
  end = 0
  rows = 0
  private starts = new Uint32Array(1024)

  /** Empties the page and keeps its memory; `before` bytes stay free for text in front of the rows. */
  clear(before = 0): void {
    this.end = before
    this.rows = 0
  }

  /** Grows the buffer until this many bytes fit after the end. */
  reserve(length: number): void {
    const needed = this.end + length
    if (needed <= this.bytes.length) return
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2))
    grown.set(this.bytes.subarray(0, this.end))
    this.bytes = grown
  }

  /** Appends text that is not a row. */
  append(text: Uint8Array): void {
    this.reserve(text.length)
    this.bytes.set(text, this.end)
    this.end += text.length
  }

  /** Appends text that is not a row, given as a string. */
  appendText(text: string): void {
    // Room for every letter as UTF-8: counting its bytes first costs as much as writing them.
    this.reserve(text.length * 3)
    this.end += encoder.encodeInto(text, this.bytes.subarray(this.end)).written
  }

  /** Ends the row that was written at `end`. */
  closeRow(length: number): void {
    if (this.rows === this.starts.length) {
      const grown = new Uint32Array(this.rows * 2)
      grown.set(this.starts)
      this.starts = grown
    }
    this.starts[this.rows++] = this.end
    this.end += length
  }

  /** Reverses the rows; text before the first row stays in place. */
  reverse(): void {
    if (this.rows < 2) return
    const first = this.starts[0]!
    const last = this.end
    this.reserve(last - first)
    let to = last
    let until = last
    for (let row = this.rows - 1; row >= 0; row--) {
      const start = this.starts[row]!
      this.bytes.copyWithin(to, start, until)
      to += until - start
      until = start
    }
    this.bytes.copyWithin(first, last, to)
  }
}
