import type { BookChange, BookSnapshot } from '@priorbook/sdk/domain'
import { ABSENT } from '@priorbook/sdk/tape'

/** A skipped change: its number within a channel or, where there are no numbers, its time. */
export type PassedMark = {
  /** ABSENT for a time. */
  readonly channel: number
  readonly mark: number
  /** The journal record of the change; 0 where an older version noted it. */
  readonly journal: number
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
    if (known?.channel === passed.channel && passed.mark < known.mark) return undefined
    this.newest.set(event.instrument.key, passed)
    return passed
  }

  /**
   * True when a skipped change is newer than this full book. Where both have the same time, only an answer
   * that was requested after the change arrived surely has it; `asked` is the record of the request.
   */
  isAhead(event: BookSnapshot | BookChange, channel: number, asked?: number): boolean {
    const full = event.kind === 'snapshot' ? markOf(event, channel) : undefined
    const known = this.newest.get(event.instrument.key)
    if (full === undefined || known?.channel !== full.channel) return false
    if (full.mark !== known.mark) return full.mark < known.mark
    return asked !== undefined && asked < known.journal
  }

  /** Restores what an earlier process noted of a book that is still closed. */
  resume(key: string, noted: Readonly<Record<keyof PassedMark, number | undefined>>): void {
    const { mark = NOTHING_PASSED, channel = ABSENT, journal = 0 } = noted
    if (mark !== NOTHING_PASSED) this.newest.set(key, { mark, channel, journal })
  }

  /** The book is open again, or not followed any more; returns true where a change was noted. */
  forget(key: string): boolean {
    return this.newest.delete(key)
  }
}

function markOf(
  { source, venueSeq, journal }: BookSnapshot | BookChange,
  channel: number,
): PassedMark | undefined {
  if (venueSeq !== undefined) return { channel, mark: venueSeq, journal }
  return source === undefined ? undefined : { channel: ABSENT, mark: source, journal }
}
