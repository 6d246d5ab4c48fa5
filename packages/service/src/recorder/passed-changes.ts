import type { BookChange, BookSnapshot } from '@priorbook/sdk/domain'

/**
 * The newest change of every closed book that was passed over, by the venue's clock. An answer that
 * was made before it and comes after it must not open the book: the change would be missing from then
 * on, and nothing would show it.
 */
export class PassedChanges {
  private readonly newest = new Map<string, number>()

  /** Notes a change that is in no row; true when it is the newest of its book. Numbers show a loss themselves. */
  note({ kind, instrument, source, venueSeq }: BookSnapshot | BookChange): boolean {
    if (kind !== 'change' || source === undefined || venueSeq !== undefined) return false
    if (source <= (this.newest.get(instrument.key) ?? -1)) return false
    this.newest.set(instrument.key, source)
    return true
  }

  /** True when a change that was passed over is newer than this full book. */
  isAhead({ kind, instrument, source }: BookSnapshot | BookChange): boolean {
    if (kind !== 'snapshot' || source === undefined) return false
    return source < (this.newest.get(instrument.key) ?? -1)
  }

  /** Takes up what an earlier process had noted of a book that is still closed. */
  resume(key: string, source: number | undefined): void {
    if (source !== undefined) this.newest.set(key, source)
  }

  /** The book is open again. */
  forget(key: string): void {
    this.newest.delete(key)
  }
}
