import type { Gap } from '@priorbook/sdk/domain'
import {
  asKnownAt,
  compareStarts,
  distinctGaps,
  gapKeysOf,
  gapsOfKeys,
  isOnPage,
  touchesSpan,
  type TimeSpan,
  type PageSpan,
} from '../../rows/index.ts'
import type { Order } from '../../store/store.ts'
import type { PageRows } from './page-rows.ts'
import type { VenueMemory } from './store-memory.ts'
import type { SourceRange, Walk } from './walk.ts'

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
  const keys = gapKeysOf(walk.lanes.map(({ instrument }) => instrument))
  const span = source === undefined ? spanOf(walk, rows, isDown) : {}
  const listed = await gapsOfKeys((key, within) => known.gaps(key, within), keys, span)
  const page: PageSpan = {
    isDown,
    hasMore: rows.hasMore,
    passed: walk.received,
    reached: rows.received,
    positionsOf(gap) {
      if (gap.scope !== 'instrument') return undefined
      const index = walk.lanes.findIndex(({ instrument }) => instrument.key === gap.key)
      if (index < 0) return undefined
      const { position: passed, last } = walk.lanes[index]!
      return { passed, reached: rows.lanes[index]!.position, last }
    },
  }
  const gaps = distinctGaps([...listed, ...rows.corrupt]).filter(
    (gap) => touches(gap, walk, source) && isOnPage(gap, page),
  )
  const shown = knownAt === undefined ? gaps : gaps.flatMap((gap) => asKnownAt(gap, knownAt))
  shown.sort(compareStarts)
  return isDown ? shown.reverse() : shown
}

// The times to ask the store for, as wide as the walk where lanes are at different times. A gap of no
// length at the edge counts, hence the microsecond.
function spanOf(walk: Walk, rows: PageRows, isDown: boolean): TimeSpan {
  const [lane] = walk.lanes
  const isAlone = walk.lanes.length === 1 && lane!.position !== undefined
  const passed = isAlone ? walk.received : undefined
  const reached = rows.hasMore ? rows.received : undefined
  const low = (isDown ? reached : passed) ?? walk.start
  const high = (isDown ? passed : reached) ?? walk.end
  return { start: low - 1, end: high + 1 }
}

function touches(gap: Gap, walk: Walk, source: SourceRange | undefined): boolean {
  if (source === undefined) return touchesSpan(gap, walk)
  const start = gap.sourceStart ?? gap.start
  const end = gap.sourceEnd ?? gap.end
  return touchesSpan({ start, end }, { start: source.sourceStart, end: source.sourceEnd })
}
