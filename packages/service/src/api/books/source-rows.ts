import { ABSENT } from '@priorbook/sdk/tape'
import type { Gap } from '@priorbook/sdk/domain'
import type { Store } from '../../store/store.ts'
import { readRows, type PageRows, type RowsQuery, type RunPart } from './page-rows.ts'
import type { Walk } from './walk.ts'

/** A range by source time: start inclusive, end exclusive. */
export type SourceRange = { readonly sourceStart: number; readonly sourceEnd: number }

/** Rows by source time, with how many had none. */
export type SourceRows = PageRows<RunPart> & {
  readonly excluded: number
  /** True when the page is short because so many rows were looked at. */
  readonly isUnfinished: boolean
}

// Rows are looked at so many at a time, and so many a request: then it answers with what it has.
const SCAN_BLOCK = 1024
const SCAN_MAX = 65_536

/**
 * Rows by source time, in received order; those without one are left out and counted. Source times
 * are in no order (late rows, clocks that differ), so every row of the walk is looked at.
 */
export async function readRowsBySource(
  store: Store,
  walk: Walk,
  query: RowsQuery & SourceRange,
): Promise<SourceRows> {
  const { order, limit, sourceStart, sourceEnd } = query
  const step = order === 'desc' ? -1 : 1
  const found: RunPart[] = []
  const corrupt: Gap[] = []
  const positions = walk.lanes.map(({ position }) => position)
  let received = walk.received
  let excluded = 0

  const finish = (hasMore: boolean, isUnfinished: boolean): SourceRows => ({
    parts: joinRows(step === 1 ? found : found.toReversed()),
    count: found.length,
    lanes: walk.lanes.map((lane, index) => ({ ...lane, position: positions[index] })),
    hasMore,
    corrupt,
    received,
    excluded,
    isUnfinished,
  })
  /** True when a row was found that has no place on the page any more. */
  const take = (part: RunPart, row: number): boolean => {
    const time = part.columns.source[row]!
    const isFound = time !== ABSENT && time >= sourceStart && time < sourceEnd
    if (isFound && found.length === limit) return true
    positions[part.source] = part.firstSequence + row
    received = part.columns.received[row]!
    if (time === ABSENT) excluded++
    if (isFound) found.push({ ...part, from: row, to: row + 1 })
    return false
  }

  for (let scanned = 0; scanned < SCAN_MAX;) {
    const lanes = walk.lanes.map((lane, index) => ({ ...lane, position: positions[index] }))
    const block = await readRows(
      store,
      { ...walk, lanes, received },
      { ...query, limit: SCAN_BLOCK },
    )
    corrupt.push(...block.corrupt)
    scanned += block.count
    for (const part of step === 1 ? block.parts : block.parts.toReversed()) {
      for (let index = 0; index < part.to - part.from; index++) {
        if (take(part, step === 1 ? part.from + index : part.to - 1 - index)) {
          return finish(true, false)
        }
      }
    }
    if (!block.hasMore) return finish(false, false)
    // Others want their turn too.
    await new Promise(setImmediate)
  }
  return finish(true, true)
}

// Neighbouring rows become one run again: the renderer then goes on without seeking.
function joinRows(rows: readonly RunPart[]): RunPart[] {
  const parts: RunPart[] = []
  for (const part of rows) {
    const before = parts.at(-1)
    const isNext =
      before !== undefined &&
      before.columns === part.columns &&
      before.source === part.source &&
      before.to === part.from
    if (isNext) parts[parts.length - 1] = { ...before, to: part.to }
    else parts.push(part)
  }
  return parts
}
