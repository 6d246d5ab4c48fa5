import type { BookRun } from '../tape/index.ts'

/**
 * Merges the runs of several instruments, each list in order, into the parts of one page: by received
 * time, then by sequence, then by instrument. `lane` says which list a part comes from.
 */
export function* interleaveRuns(
  lists: readonly (readonly BookRun[])[],
): Generator<BookRun & { readonly lane: number }> {
  let places = lists.flatMap((runs, lane) => placeAt(runs, 0, lane) ?? [])
  while (places.length > 0) {
    const first = places.reduce((best, place) => (isBefore(place, best) ? place : best))
    const others = places.filter((place) => place !== first)
    const { run, lane } = first
    const from = first.row
    do first.row++
    while (first.row < run.to && others.every((other) => isBefore(first, other)))
    yield { ...run, from, to: first.row, lane }
    if (first.row < run.to) continue
    places = others.concat(placeAt(first.runs, first.index + 1, lane) ?? [])
  }
}

type Place = {
  readonly runs: readonly BookRun[]
  readonly index: number
  readonly run: BookRun
  readonly lane: number
  row: number
}

/** The place of the first row from a run on; runs may be empty. */
function placeAt(runs: readonly BookRun[], start: number, lane: number): Place | undefined {
  const index = runs.findIndex((run, at) => at >= start && run.from < run.to)
  const run = runs[index]
  return run === undefined ? undefined : { runs, index, run, lane, row: run.from }
}

function isBefore(left: Place, right: Place): boolean {
  const byTime = left.run.columns.received[left.row]! - right.run.columns.received[right.row]!
  if (byTime !== 0) return byTime < 0
  const bySequence = left.run.firstSequence + left.row - right.run.firstSequence - right.row
  return bySequence === 0 ? left.lane < right.lane : bySequence < 0
}
