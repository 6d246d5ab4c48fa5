import {
  toBackfillKey,
  toMicros,
  type Gap,
  type Instrument,
  type Trade,
  type VenueId,
} from '@priorbook/sdk/domain'
import { newestPastTrade, pricesGapKey, type StoreReader } from '../store/store.ts'
import type { HistoryGap } from './notes.ts'

/** The end of the past trades of one instrument: the newest time, and the trades that have it. */
type PastEnd = { time: number; ids: Set<string> }

// More trades than any venue lists of one instant.
const SAME_TIME = 5000

/**
 * The trades that come from a venue's history, each once and in the order of the venue's clock. Like the
 * tracks of books it depends on the journal alone.
 */
export class PastTrades {
  /** When the newest of all of them happened. */
  newest = 0
  private readonly ends = new Map<string, PastEnd>()
  private isLoaded = false

  isReady(key: string): boolean {
    return this.ends.has(key)
  }

  /** Reads where the trades of an instrument end. */
  async load(store: StoreReader, { venue, key }: Instrument): Promise<void> {
    if (!this.isLoaded) {
      this.newest = (await store.fact(newestPastTrade(venue))) ?? 0
      this.isLoaded = true
    }
    const { rows } = await store.trades({ venue, key, order: 'desc', limit: 1 })
    const time = rows.received[rows.count - 1] ?? 0
    const same =
      time === 0
        ? undefined
        : await store.trades({
            venue,
            key,
            order: 'desc',
            start: time,
            end: time + 1,
            limit: SAME_TIME,
          })
    this.ends.set(key, { time, ids: new Set(same?.rows.tradeId ?? []) })
  }

  /** True for a trade that comes next; false for one that is stored or lies before the end. */
  take({ instrument, tradeId, received: time }: Trade): boolean {
    const end = this.ends.get(instrument.key)!
    if (time < end.time) return false
    if (time > end.time) {
      end.time = time
      end.ids = new Set()
    }
    if (end.ids.has(tradeId)) return false
    end.ids.add(tradeId)
    this.newest = Math.max(this.newest, time)
    return true
  }

  /** Forgets all of them; only after everything that was taken is stored. */
  forget(): void {
    this.ends.clear()
  }
}

/** The gap of a span that a venue's history does not give. */
export function pastGap(
  venue: VenueId,
  { market, of, start, end, why }: HistoryGap,
  journal: number,
): Gap {
  return {
    venue,
    scope: 'market',
    key: toBackfillKey(of === undefined ? market : pricesGapKey(market)),
    reason: 'unavailable',
    start: toMicros(start),
    end: toMicros(end),
    afterSequence: 0,
    detail: why,
    journal,
    endJournal: journal,
  }
}
