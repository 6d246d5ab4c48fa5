import {
  FLAGS,
  parseReferenceKey,
  REFERENCE_MARKET,
  REFERENCE_METRIC,
  type Gap,
  type GapReason,
  type Instrument,
  type Micros,
  type Sample,
  type VenueId,
} from '@priorbook/sdk/domain'
import { ABSENT } from '@priorbook/sdk/tape'
import type { StoreReader } from '../store/store.ts'
import { toEpoch } from './channel.ts'

/** The last price of a series, and its open gap. */
type ReferenceTrack = {
  readonly instrument: Instrument
  /** The number of prices so far. */
  sequence: number
  received: Micros
  source: Micros | undefined
  channel: number
  gap: Gap | undefined
}

/** Which series are meant: all, those of a connection, or some by their keys. */
export type ReferenceChoice =
  | 'all'
  | { readonly epoch: number }
  | { readonly keys: readonly string[] }

/**
 * The series of reference prices of a venue. Prices need no full book: a series whose feed was lost goes on
 * with its next price. Like the tracks of books it depends on the journal alone.
 */
export class ReferenceTracks {
  private readonly venue: VenueId
  private readonly tracks = new Map<string, ReferenceTrack>()

  constructor(venue: VenueId) {
    this.venue = venue
  }

  /** Loads what the store holds of them. */
  async load(store: StoreReader): Promise<void> {
    const { venue } = this
    for (const facts of await store.series(venue, REFERENCE_MARKET)) {
      const { instrument, lastSequence, lastReceived } = facts
      const { key } = instrument
      const query = { venue, key, metric: REFERENCE_METRIC, order: 'desc', limit: 1 } as const
      const { rows } = await store.samples(query)
      const [gap] = await store.gaps({ venue, key, open: true })
      // Retention may have removed all rows; the numbers go on.
      const at = rows.count - 1
      const source = rows.source[at] ?? ABSENT
      this.tracks.set(key, {
        instrument,
        sequence: lastSequence,
        received: (rows.received[at] ?? lastReceived) as Micros,
        source: source === ABSENT ? undefined : (source as Micros),
        channel: rows.channel[at] ?? ABSENT,
        gap,
      })
    }
  }

  /** A price arrived over a channel: returns it as it is stored, and the gap that ends with it. */
  apply(
    sample: Sample,
    channel: number,
  ): { readonly sample: Sample; readonly gaps: readonly Gap[] } {
    const { instrument, received, source } = sample
    const track = this.tracks.get(instrument.key)
    const gap = track?.gap
    this.tracks.set(instrument.key, {
      instrument,
      sequence: (track?.sequence ?? 0) + 1,
      received,
      source,
      channel,
      gap: undefined,
    })
    const placed = channel === ABSENT ? sample : { ...sample, channel }
    if (gap === undefined) return { sample: placed, gaps: [] }
    const flags = (sample.flags ?? 0) | FLAGS.after_gap
    const sourceEnd = source === undefined ? {} : { sourceEnd: source }
    const ended = { ...gap, end: received, ...sourceEnd, endJournal: sample.journal }
    return { sample: { ...placed, flags }, gaps: [ended] }
  }

  /** Prices may be missing from the last one of each series on: opens their gaps. */
  interrupt(
    choice: ReferenceChoice,
    reason: GapReason,
    journal: number,
    detail?: string,
  ): readonly Gap[] {
    const gaps: Gap[] = []
    for (const track of this.tracks.values()) {
      if (track.gap !== undefined || !isMeant(track, choice)) continue
      track.gap = {
        venue: this.venue,
        scope: 'instrument',
        key: track.instrument.key,
        reason,
        start: track.received,
        ...(track.source === undefined ? {} : { sourceStart: track.source }),
        afterSequence: track.sequence,
        ...(detail === undefined ? {} : { detail }),
        journal,
      }
      gaps.push(track.gap)
    }
    return gaps
  }
}

/** True for the key of a series of reference prices. */
export function isReferenceKey(key: string): boolean {
  return parseReferenceKey(key) !== undefined
}

function isMeant({ instrument, channel }: ReferenceTrack, choice: ReferenceChoice): boolean {
  if (choice === 'all') return true
  if ('keys' in choice) return choice.keys.includes(instrument.key)
  return channel !== ABSENT && toEpoch(channel) === choice.epoch
}
