import type { BookRun } from '@priorbook/sdk/tape'
import { renderChanges, type BookContext, type BookPart } from '@priorbook/sdk/wire'
import { RENDERER } from '../books/renderer.ts'
import type { ReplayOrder } from './request.ts'

const LINE_FEED = 10
// Lines of rows say their type first, which messages say themselves.
const BOOK_LINE = '{"type":"book",'.length
const CHANGES_LINE = '{"type":"changes",'.length

/** Rows that are told by what they changed. */
export type ChangedPart = BookRun & { readonly source: number }

/** The rows of one step by how they are told, each in order. */
export type Parts = {
  readonly contexts: readonly BookContext[]
  readonly whole: readonly BookPart[]
  readonly changed: readonly ChangedPart[]
  readonly rows: number
}

/** The rows that are whole books; the bytes are borrowed until anything is awaited. */
export function renderWhole({ whole, contexts }: Parts, { options }: ReplayOrder): Lines {
  if (whole.length === 0) return new Lines(NOTHING, BOOK_LINE)
  const bytes = RENDERER.renderNdjson(whole, contexts, options)
  return new Lines(toBuffer(bytes), BOOK_LINE)
}

/** The rows that are told by what they changed. */
export function renderChanged({ changed, contexts }: Parts, { style }: ReplayOrder): Lines {
  if (changed.length === 0) return new Lines(NOTHING, CHANGES_LINE)
  const bytes = renderChanges(changed, contexts, { ...style, format: 'ndjson' })
  return new Lines(toBuffer(bytes), CHANGES_LINE)
}

const NOTHING = Buffer.alloc(0)

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)
}

/** Walks over rendered lines; what stands before a row's first name is left out. */
export class Lines {
  readonly bytes: Buffer
  start = 0
  end = -1
  private readonly skipped: number

  constructor(bytes: Buffer, skipped: number) {
    this.bytes = bytes
    this.skipped = skipped
  }

  get length(): number {
    return this.bytes.length
  }

  next(): void {
    const begin = this.end + 1
    this.start = begin + this.skipped
    this.end = this.bytes.indexOf(LINE_FEED, this.start)
  }
}
