import type { BookRun } from '../tape/index.ts'

/**
 * Merges the runs of several instruments, each list in order, into the parts of one page: by received
 * time, then by sequence, then by instrument. `source` says which list a part comes from.
 */
export function* interleaveRuns(
  lists: readonly (readonly BookRun[])[],
): Generator<BookRun & { readonly source: number }> {
  let places = lists.flatMap((runs, source) => placeAt(runs, 0, source) ?? [])
  while (places.length > 0) {
    const first = places.reduce((best, place) => (isBefore(place, best) ? place : best))
    const others = places.filter((place) => place !== first)
    const { run, source } = first
    const from = first.row
    do first.row++
    while (first.row < run.to && others.every((other) => isBefore(first, other)))
    yield { ...run, from, to: first.row, source }
    if (first.row < run.to) continue
    places = others.concat(placeAt(first.runs, first.index + 1, source) ?? [])
  }
}

type Place = {
  readonly runs: readonly BookRun[]
  readonly index: number
  readonly run: BookRun
  readonly source: number
  row: number
}

/** The place of the first row from a run on; runs may be empty. */
function placeAt(runs: readonly BookRun[], start: number, source: number): Place | undefined {
  const index = runs.findIndex((run, at) => at >= start && run.from < run.to)
  const run = runs[index]
  return run === undefined ? undefined : { runs, index, run, source, row: run.from }
}

function isBefore(left: Place, right: Place): boolean {
  const byTime = left.run.columns.received[left.row]! - right.run.columns.received[right.row]!
  if (byTime !== 0) return byTime < 0
  const bySequence = left.run.firstSequence + left.row - right.run.firstSequence - right.row
  return bySequence === 0 ? left.source < right.source : bySequence < 0
}
