import type { BookRun, Ladder } from '@priorbook/sdk/tape'

// A book with ticks of 0.0001 takes 163 KB, one with cents 2 KB.
const MAX_BYTES = 32 * 1024 * 1024
const MAX_BOOKS = 4096

/** The book of an instrument after one of its rows. */
export type KeptBook = {
  readonly ladder: Ladder
  ordinal: number
  /** The row returned last, where it is in a chunk, so that it is not decoded again. */
  newest: { readonly run: BookRun; readonly version: number } | undefined
}

/** The newest books of the instruments that were asked for last; their number and their bytes are bounded. */
export class KeptBooks {
  private readonly books = new Map<number, { readonly book: KeptBook; readonly bytes: number }>()
  private bytes = 0

  get size(): number {
    return this.books.size
  }

  get(stream: number): KeptBook | undefined {
    return this.books.get(stream)?.book
  }

  /** Keeps a book as the one that was asked for last. */
  put(stream: number, book: KeptBook): void {
    this.remove(stream)
    const { bytes } = book.ladder
    this.books.set(stream, { book, bytes })
    this.bytes += bytes
    while (this.books.size > 1 && (this.books.size > MAX_BOOKS || this.bytes > MAX_BYTES)) {
      this.remove(this.books.keys().next().value!)
    }
  }

  private remove(stream: number): void {
    this.bytes -= this.books.get(stream)?.bytes ?? 0
    this.books.delete(stream)
  }
}
