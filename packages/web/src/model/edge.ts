import type { ConsolidatedJson, ContractBooksJson, SpreadJson } from '@priorbook/sdk/client'
import { compareDecimals } from './exact.ts'
import { microsOf } from './time.ts'

/** Edges with the largest first. */
export function sortEdges(edges: readonly SpreadJson[]): readonly SpreadJson[] {
  return edges.toSorted((a, b) => compareDecimals(String(b.best_edge), String(a.best_edge)))
}

/** True where two answers about an instant come from the same rows. */
export function isOneInstant(books: ContractBooksJson, prices: ConsolidatedJson): boolean {
  return books.members.every(({ row_id: id }, place) => prices.members[place]?.row_id === id)
}

/** Adds the spans of a range that begins where that of the others ends; a span over both is one. */
export function joinSpans(
  before: readonly SpreadJson[],
  after: readonly SpreadJson[],
): readonly SpreadJson[] {
  const joined = [...before]
  for (const span of after) {
    const place = joined.findLastIndex((one) => isContinued(one, span))
    if (place === -1) joined.push(span)
    else joined[place] = join(joined[place]!, span)
  }
  return joined
}

function isContinued(one: SpreadJson, next: SpreadJson): boolean {
  return (
    one.ended_by === 'range' &&
    microsOf(one.end_time) === microsOf(next.start_time) &&
    nameOf(one) === nameOf(next)
  )
}

function join(one: SpreadJson, next: SpreadJson): SpreadJson {
  const isBetter = compareDecimals(String(next.best_edge), String(one.best_edge)) > 0
  const best = isBetter ? next : one
  const { end_time, ended_by } = next
  return {
    ...best,
    start_time: one.start_time,
    end_time,
    ended_by,
    duration_ms: printMs(microsOf(end_time) - microsOf(one.start_time)),
    rows: { start: one.rows.start, best: best.rows.best, end: next.rows.end },
  }
}

function printMs(micros: number): string {
  const text = String(micros).padStart(4, '0')
  return `${text.slice(0, -3)}.${text.slice(-3)}`.replace(/\.?0+$/, '')
}

/** Identifies the pair of an edge, with its direction. */
export function nameOf({ yes, no }: SpreadJson): string {
  return `${yes.venue} ${yes.market_id} ${no.venue} ${no.market_id}`
}
