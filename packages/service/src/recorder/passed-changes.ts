import type { BookChange, BookSnapshot } from '@priorbook/sdk/domain'
import { ABSENT } from '@priorbook/sdk/tape'

/** A skipped change: its number within a channel or, where there are no numbers, its time. */
export type PassedMark = {
  /** ABSENT for a time. */
  readonly channel: number
  readonly mark: number
}

// The mark that 0.1.0 stored for a book that has opened since.
const NOTHING_PASSED = 0

/**
 * The newest change that every closed book skipped, by the venue's number or clock. A full book that was
 * made before that change and arrives after it must not open the book, because it lacks the change.
 */
export class PassedChanges {
  private readonly newest = new Map<string, PassedMark>()

  /** Notes a skipped change; returns its mark if it is the newest of its book. */
  note(event: BookSnapshot | BookChange, channel: number): PassedMark | undefined {
    const passed = event.kind === 'change' ? markOf(event, channel) : undefined
    if (passed === undefined) return undefined
    const known = this.newest.get(event.instrument.key)
    if (known?.channel === passed.channel && passed.mark <= known.mark) return undefined
    this.newest.set(event.instrument.key, passed)
    return passed
  }

  /** True when a skipped change is newer than this full book. */
  isAhead(event: BookSnapshot | BookChange, channel: number): boolean {
    const full = event.kind === 'snapshot' ? markOf(event, channel) : undefined
    const known = this.newest.get(event.instrument.key)
    if (full === undefined || known?.channel !== full.channel) return false
    return full.mark < known.mark
  }

  /** Restores what an earlier process noted of a book that is still closed. */
  resume(key: string, mark: number | undefined, channel: number | undefined): void {
    if (mark !== undefined && mark !== NOTHING_PASSED)
      this.newest.set(key, { mark, channel: channel ?? ABSENT })
  }

  /** The book is open again, or not followed any more; returns true where a change was noted. */
  forget(key: string): boolean {
    return this.newest.delete(key)
  }
}

function markOf(
  { source, venueSeq }: BookSnapshot | BookChange,
  channel: number,
): PassedMark | undefined {
  if (venueSeq !== undefined) return { channel, mark: venueSeq }
  return source === undefined ? undefined : { channel: ABSENT, mark: source }
}
