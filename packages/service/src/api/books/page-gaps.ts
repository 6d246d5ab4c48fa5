import type { Gap } from '@priorbook/sdk/domain'
import { toGapJson, type ReceiptJson, type ValueStyle } from '@priorbook/sdk/wire'
import {
  asKnownAt,
  compareStarts,
  distinctGaps,
  gapKeysOf,
  GapQueue,
  gapsOfKeys,
  isOnPage,
  touchesSpan,
  type TimeSpan,
  type PageSpan,
} from '../../rows/index.ts'
import type { Order } from '../../store/store.ts'
import { endLines } from '../pages/answer-rows.ts'
import type { Notice } from '../route.ts'
import type { Walk } from './book-walk.ts'
import type { PagePart, PageRows } from './page-rows.ts'
import type { VenueCache } from './store-cache.ts'

/**
 * The gaps of one page, in the order of the walk: those between the row before the page and its last
 * row, so that each stands on one page. The last page also has those after its last row.
 */
export async function gapsOfPage(
  cache: VenueCache,
  walk: Walk,
  rows: PageRows,
  { order, knownAt }: { readonly order: Order; readonly knownAt: number | undefined },
): Promise<readonly Gap[]> {
  const isDown = order === 'desc'
  const keys = gapKeysOf(walk.lanes.map(({ instrument }) => instrument))
  const span = walk.sourceRange === undefined ? spanOf(walk, rows, isDown) : {}
  const listed = await gapsOfKeys((key, within) => cache.gaps(key, within), keys, span)
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
    (gap) => touches(gap, walk) && isOnPage(gap, page),
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

function touches(gap: Gap, walk: Walk): boolean {
  if (walk.sourceRange === undefined) return touchesSpan(gap, walk)
  const { sourceStart, sourceEnd } = walk.sourceRange
  const start = gap.sourceStart ?? gap.start
  const end = gap.sourceEnd ?? gap.end
  return touchesSpan({ start, end }, { start: sourceStart, end: sourceEnd })
}

/**
 * A page as lines: rows and gaps in the order of the walk, then notices, and at the end of the walk the
 * receipt. `render` returns borrowed bytes, which are copied here.
 */
export function toLines(
  parts: readonly PagePart[],
  keys: readonly string[],
  gaps: readonly Gap[],
  more: {
    readonly isDown: boolean
    readonly render: (parts: readonly PagePart[]) => Uint8Array
    readonly style: ValueStyle
    readonly notices: readonly Notice[]
    readonly receipt: ReceiptJson | undefined
  },
): Uint8Array {
  const pieces: Uint8Array[] = []
  let open: PagePart[] = []
  const flush = (): void => {
    if (open.length > 0) pieces.push(more.render(open).slice())
    open = []
  }
  const add = (item: PagePart | Gap): void => {
    if (!('scope' in item)) open.push(item)
    else {
      flush()
      const gap = { type: 'gap', ...toGapJson(item, more.style) }
      pieces.push(Buffer.from(`${JSON.stringify(gap)}\n`))
    }
  }
  const queue = new GapQueue(gaps)
  for (const part of parts) {
    const key = keys[part.lane]!
    if ('row' in part) {
      const received = part.columns.received[part.row]!
      while (queue.isBefore(received, key, part.sequence)) add(queue.shift()!)
      add(part)
    } else for (const item of queue.cut(part, key)) add(item)
  }
  flush()
  for (let gap = queue.shift(); gap !== undefined; gap = queue.shift()) add(gap)
  if (more.isDown) pieces.reverse()
  for (const end of endLines(more.notices, more.receipt)) pieces.push(Buffer.from(`${end}\n`))
  return Buffer.concat(pieces)
}
