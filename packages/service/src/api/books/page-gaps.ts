import type { Gap } from '@priorbook/sdk/domain'
import type { Order } from '../../store/store.ts'
import type { PageRows } from './page-rows.ts'
import type { SourceRange } from './source-rows.ts'
import type { VenueMemory } from './store-memory.ts'
import type { Lane, Walk } from './walk.ts'

/**
 * The gaps of one page, in the order of the walk: those between the row before the page and its last
 * row, so that each stands on one page. The last page also has those after its last row.
 */
export async function gapsOfPage(
  known: VenueMemory,
  walk: Walk,
  rows: PageRows,
  options: {
    readonly order: Order
    readonly knownAt?: number | undefined
    readonly source?: SourceRange | undefined
  },
): Promise<readonly Gap[]> {
  const { order, knownAt, source } = options
  const isDown = order === 'desc'
  const { marketId } = walk.lanes[0]!.instrument
  const span = spanOf(walk, rows, isDown, source !== undefined)
  const keys = new Set([...walk.lanes.map(({ instrument }) => instrument.key), marketId, ''])
  const listed: Gap[] = []
  for (const key of keys) {
    for (const gap of await known.gaps(key, span)) listed.push(gap)
  }
  const isOnPage = (gap: Gap): boolean => {
    if (!touches(gap, walk, source)) return false
    const lane = walk.lanes.findIndex(({ instrument }) => instrument.key === gap.key)
    if (gap.scope === 'instrument' && lane >= 0) {
      const { position, last } = walk.lanes[lane]!
      const next = rows.lanes[lane]!.position
      return gap.afterSequence <= last && isWithin(gap.afterSequence, position, next)
    }
    return isWithin(gap.start, walk.received, rows.received)
  }
  // Between two places of the walk; beyond the second one only on the last page.
  const isWithin = (place: number, before?: number, after?: number): boolean => {
    const isAfter = before === undefined || (isDown ? place < before : place >= before)
    const isBefore = after !== undefined && (isDown ? place >= after : place < after)
    return isAfter && (!rows.hasMore || isBefore)
  }
  const gaps = distinct([...listed, ...rows.corrupt]).filter(isOnPage)
  const shown = knownAt === undefined ? gaps : gaps.flatMap((gap) => asKnownAt(gap, knownAt))
  shown.sort((a, b) => a.start - b.start || a.afterSequence - b.afterSequence)
  return isDown ? shown.reverse() : shown
}

/** A gap as it was known at a time: not at all, or still open. */
export function asKnownAt(gap: Gap, knownAt: number): readonly Gap[] {
  if (gap.start > knownAt) return []
  if (gap.end === undefined || gap.end <= knownAt) return [gap]
  const { end: _end, sourceEnd: _sourceEnd, endJournal: _endJournal, ...open } = gap
  return [open]
}

// The times to ask the store for; wide where lanes stand at different times. A gap of no length at
// the edge counts, hence the microsecond.
function spanOf(
  walk: Walk,
  rows: PageRows,
  isDown: boolean,
  isBySource: boolean,
): { readonly start?: number; readonly end?: number } {
  if (isBySource) return {}
  const isAlone = walk.lanes.length === 1 && isPlaced(walk.lanes[0]!)
  const passed = isAlone ? walk.received : undefined
  const reached = rows.hasMore ? rows.received : undefined
  const low = (isDown ? reached : passed) ?? walk.start
  const high = (isDown ? passed : reached) ?? walk.end
  return { start: low - 1, end: high + 1 }
}

function isPlaced({ position }: Lane): boolean {
  return position !== undefined
}

function touches(gap: Gap, walk: Walk, source: SourceRange | undefined): boolean {
  const [low, high] =
    source === undefined ? [walk.start, walk.end] : [source.sourceStart, source.sourceEnd]
  const start = source === undefined ? gap.start : (gap.sourceStart ?? gap.start)
  const end = (source === undefined ? gap.end : (gap.sourceEnd ?? gap.end)) ?? Infinity
  return start < high && (end > low || (start === end && start === low))
}

function distinct(gaps: readonly Gap[]): Gap[] {
  const byName = new Map<string, Gap>()
  for (const gap of gaps) {
    const { scope, key, reason, start, afterSequence } = gap
    byName.set([scope, key, reason, start, afterSequence].join(' '), gap)
  }
  return [...byName.values()]
}
