import { gapId, type Gap, type Micros } from '../domain/index.ts'
import type { Contents, Span } from './contents.ts'
import type { MarketEvent, ReplayGapEvent } from './event.ts'
import { compareText } from './instrument.ts'

/** Market records, ends of gaps and beginnings of gaps, each in order. */
export type Notes = {
  readonly markets: readonly MarketEvent[]
  readonly closes: readonly ReplayGapEvent[]
  readonly opens: readonly ReplayGapEvent[]
}

/**
 * The events of records and gaps within a span. Records and gaps from before the start are emitted at the
 * start. A gap of zero length opens and closes before the rows of its time. The event that opens a gap
 * does not show its end.
 */
export function notesOf(contents: Contents, { start, end }: Span): Notes {
  const markets = [...contents.markets.values()]
    .filter(({ knownAt }) => knownAt < end)
    .map(({ record, knownAt }): MarketEvent => ({
      kind: 'market',
      at: Math.max(knownAt, start) as Micros,
      record,
    }))
    .sort(
      (left, right) =>
        left.at - right.at ||
        compareText(left.record.venue, right.record.venue) ||
        compareText(left.record.marketId, right.record.marketId),
    )
  const closes: ReplayGapEvent[] = []
  const opens: ReplayGapEvent[] = []
  for (const gap of contents.gaps.values()) {
    const finish = gap.end ?? Infinity
    const isInstant = finish <= gap.start
    if (gap.start >= end || finish < start || (finish === start && !isInstant)) continue
    const at = Math.max(gap.start, start) as Micros
    const open: ReplayGapEvent = { kind: 'gap', at, edge: 'open', gap: asOpened(gap) }
    if (isInstant) closes.push(open)
    else opens.push(open)
    if (gap.end !== undefined && gap.end < end) {
      closes.push({ kind: 'gap', at: Math.max(gap.end, at) as Micros, edge: 'close', gap })
    }
  }
  return { markets, closes: sorted(closes), opens: sorted(opens) }
}

// When a gap opens, its end is not known yet.
function asOpened(gap: Gap): Gap {
  if (gap.end === undefined) return gap
  const { end: _end, sourceEnd: _source, endJournal: _journal, detail: _detail, ...open } = gap
  return open
}

function sorted(events: ReplayGapEvent[]): ReplayGapEvent[] {
  // The sort is stable: a gap of zero length still opens before it closes.
  return events
    .map((event) => ({ event, id: gapId(event.gap) }))
    .sort((left, right) => left.event.at - right.event.at || compareText(left.id, right.id))
    .map(({ event }) => event)
}
