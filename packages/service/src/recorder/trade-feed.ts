import { VENUES, type Gap, type GapReason, type Micros, type VenueId } from '@priorbook/sdk/domain'
import { feedFacts, type StoreReader } from '../store/store.ts'
import type { FeedReading } from '../venues/capture/contract.ts'

/** A journal record, as far as gaps need it. */
type Place = { readonly received: Micros; readonly number: number }

/**
 * The feed of trades of a venue whose trades arrive by another way than its books: when it was last read,
 * and its open gap. Like the tracks of books it depends on the journal alone.
 */
export class TradeFeed {
  private readonly venue: VenueId
  private readonly key: string
  private last: { readonly received: Micros; readonly source: Micros } | undefined
  private hasStarted = false
  private gap: Gap | undefined
  /** True where what the gap lacks may never be read. */
  private isLost = false

  constructor(venue: VenueId) {
    this.venue = venue
    this.key = VENUES[venue].tradesKey ?? ''
  }

  /** Loads what the store holds of it. */
  async load(store: StoreReader): Promise<void> {
    if (this.key === '') return
    const { venue, key } = this
    const names = feedFacts(venue)
    const received = await store.fact(names.received)
    const source = await store.fact(names.source)
    if (received === undefined || source === undefined) return
    this.last = { received: received as Micros, source: source as Micros }
    this.hasStarted = (await store.fact(names.started)) !== undefined
    const [open] = await store.gaps({ venue, key, open: true })
    this.gap = open
  }

  /** The feed was read: returns the facts to store, and the gap that ends with it. */
  read(
    { source, facts }: FeedReading,
    { received, number }: Place,
  ): { readonly facts: Readonly<Record<string, number>>; readonly gaps: readonly Gap[] } {
    const names = feedFacts(this.venue)
    const started = this.hasStarted ? {} : { [names.started]: received }
    this.hasStarted = true
    this.last = { received, source }
    return {
      facts: { ...facts, ...started, [names.received]: received, [names.source]: source },
      gaps: this.closeGap(source, { received, number }),
    }
  }

  private closeGap(source: Micros, { received, number }: Place): readonly Gap[] {
    const { gap } = this
    if (gap === undefined) return []
    this.gap = undefined
    const end = Math.max(received, gap.start) as Micros
    // A feed goes on where it stopped, so nothing is missing, except what was damaged here.
    const said = gap.detail === undefined ? '' : `${gap.detail}; `
    const isLost = gap.reason === 'corrupt' || this.isLost
    this.isLost = false
    const detail = isLost ? {} : { detail: `${said}its trades were read later` }
    const sourceEnd = Math.max(source, gap.sourceStart ?? source) as Micros
    return [{ ...gap, end, sourceEnd, ...detail, endJournal: number }]
  }

  /** Another recorder read the feed before, and perhaps not as far as this one. */
  takeOver(journal: number): readonly Gap[] {
    this.isLost = this.last !== undefined
    return this.interrupt('recorder_down', journal, 'another recorder went on')
  }

  /** The feed cannot be read, or records of it are missing: opens a gap at its last message. */
  interrupt(reason: GapReason, journal: number, detail?: string): readonly Gap[] {
    const { venue, key, last } = this
    if (last === undefined || this.gap !== undefined) return []
    this.gap = {
      venue,
      scope: 'instrument',
      key,
      reason,
      start: last.received,
      sourceStart: last.source,
      afterSequence: 0,
      ...(detail === undefined ? {} : { detail }),
      journal,
    }
    return [this.gap]
  }
}
