import type { VenueId } from '../domain/index.ts'
import type { StreamMessage } from '../wire/index.ts'

/** Rows of an instrument did not arrive, and the server did not say so. */
export type HoleMessage = {
  readonly type: 'hole'
  readonly venue: VenueId
  readonly market_id: string
  readonly key: string
  readonly kind: 'book' | 'trade'
  /** The last row that arrived before; 0: none. */
  readonly after_sequence: number
  /** The row that revealed the hole. */
  readonly sequence: number
}

type RowMessage = Extract<StreamMessage, { readonly type: 'snapshot' | 'update' | 'trade' }>

type Place = {
  readonly venue: VenueId
  readonly marketId: string
  readonly key: string
  readonly kind: 'book' | 'trade'
  readonly sequence: number
  /** True once its market has closed: later rows must still be consecutive, but none is requested. */
  isOver: boolean
}

// Max bytes of `resume` in a request, which may have 64 KiB in all.
const RESUME_CHARS = 56_000
// Max instruments to remember: short rounds come and go, so the most recently active are kept.
const MOST_PLACES = 20_000

/** Remembers the last row of every instrument: what to resume from, and what is missing. */
export class Sequences {
  /** In the order of their last rows. */
  private readonly places = new Map<string, Place>()

  /** Checks a row: `old` was received before; a row that is not consecutive has a hole before it. */
  see(message: RowMessage): 'next' | 'old' | HoleMessage {
    const kind = message.type === 'trade' ? 'trade' : 'book'
    const { venue, market_id: marketId } = message.row
    const { key, sequence } = message
    const name = nameOf(venue, key, kind)
    const before = this.places.get(name)
    if (before !== undefined && sequence <= before.sequence) return 'old'
    this.places.delete(name)
    this.places.set(name, { venue, marketId, key, kind, sequence, isOver: false })
    if (this.places.size > MOST_PLACES) this.places.delete(this.places.keys().next().value!)
    const last = before?.sequence ?? 0
    if (before?.isOver === true && message.type === 'snapshot') return 'next'
    if (follows(message, before?.sequence)) return 'next'
    return { type: 'hole', venue, market_id: marketId, key, kind, after_sequence: last, sequence }
  }

  /** The server announced missing rows: the next row may have any sequence. */
  forget(venue: VenueId, key: string): void {
    this.places.delete(nameOf(venue, key, 'book'))
  }

  /** A market has closed: its instruments are not resumed any more. */
  endMarket(venue: VenueId, marketOrKey: string): void {
    for (const place of this.places.values()) {
      if (place.venue === venue && (place.marketId === marketOrKey || place.key === marketOrKey)) {
        place.isOver = true
      }
    }
  }

  /** The positions to resume from, the newest first, as many as a request holds. */
  resumeOf(venue: VenueId, marketId: string | undefined): Record<string, number> | undefined {
    const resume: Record<string, number> = {}
    let chars = 0
    for (const place of [...this.places.values()].reverse()) {
      if (place.venue !== venue || place.isOver) continue
      if (marketId !== undefined && place.marketId !== marketId) continue
      const name = place.kind === 'trade' ? `${place.key}/trade` : place.key
      chars += name.length + String(place.sequence).length + 4
      if (chars > RESUME_CHARS) break
      resume[name] = place.sequence
    }
    return chars === 0 ? undefined : resume
  }
}

/** True when a message follows the last row that arrived; `last` is absent where none did. */
function follows(message: RowMessage, last: number | undefined): boolean {
  const { previous_sequence: previous, sequence } = message
  switch (message.type) {
    case 'snapshot':
      return last === undefined || sequence === last + 1 || (previous ?? 0) === last
    case 'update':
      // A change needs the book that it changes; a whole book needs none, but may be the first of many.
      return last === undefined ? !('changes' in message.row) : (previous ?? Infinity) <= last
    case 'trade':
      return last === undefined || sequence === last + 1 || (previous !== null && previous <= last)
  }
}

function nameOf(venue: VenueId, key: string, kind: 'book' | 'trade'): string {
  return `${venue} ${key} ${kind}`
}
