import type { BookRun } from '@priorbook/sdk/tape'
import { interleaveRuns, type BookContext } from '@priorbook/sdk/wire'
import type { StoreReader } from '../../store/store.ts'
import type { GapQueue } from './gap-queue.ts'
import type { BulkScope } from './scope.ts'
import type { BookPiece, WalkItem } from './walk-item.ts'

// Two full chunks: a page costs one look into the store and is walked in slices by whoever writes it.
const PAGE_ROWS = 2048

/** The observations of a market by received time, its instruments interleaved, with its gaps. */
export async function* walkBooks(
  store: StoreReader,
  scope: BulkScope,
  contexts: readonly BookContext[],
  gaps: GapQueue,
): AsyncGenerator<WalkItem> {
  const lanes = contexts.map((context) => new BookLane(store, scope, context.key))
  for (;;) {
    for (const lane of lanes) if (lane.runs.length === 0) gaps.add(await lane.load())
    if (lanes.every((lane) => lane.runs.length === 0)) return
    const ready = takeReady(lanes)
    if (ready.every((runs) => runs.length === 0)) {
      // All that is loaded ties with what may still come: look further.
      for (const lane of lanes) if (lane.hasMore) gaps.add(await lane.load())
      continue
    }
    yield* cutAtGaps(contexts, interleaveRuns(ready), gaps)
  }
}

/** The loaded observations of one instrument. */
class BookLane {
  runs: BookRun[] = []
  hasMore = true
  private readonly store: StoreReader
  private readonly scope: BulkScope
  private readonly key: string
  private after: number | undefined

  constructor(store: StoreReader, scope: BulkScope, key: string) {
    this.store = store
    this.scope = scope
    this.key = key
  }

  /** Reads the next page and gives the damage it met. */
  async load(): Promise<Awaited<ReturnType<StoreReader['books']>>['corrupt']> {
    if (!this.hasMore) return []
    const { venue, start, end, knownAt } = this.scope
    const page = await this.store.books({
      venue,
      key: this.key,
      order: 'asc',
      start,
      end,
      limit: PAGE_ROWS,
      numbers: true,
      ...(this.after === undefined ? {} : { after: this.after }),
      ...(knownAt === undefined ? {} : { knownAt }),
    })
    this.runs.push(...page.runs)
    this.hasMore = page.hasMore
    const last = page.runs.at(-1)
    if (last !== undefined) this.after = last.firstSequence + last.to - 1
    return page.corrupt
  }

  /** When the last loaded row was received. */
  get lastReceived(): number {
    const { columns, to } = this.runs.at(-1)!
    return columns.received[to - 1]!
  }

  /** Takes the rows received before a time. */
  takeBefore(time: number): BookRun[] {
    const taken: BookRun[] = []
    while (this.runs.length > 0) {
      const run = this.runs[0]!
      let to = run.to
      while (to > run.from && run.columns.received[to - 1]! >= time) to--
      if (to > run.from) taken.push({ ...run, to })
      if (to < run.to) {
        this.runs[0] = { ...run, from: to }
        break
      }
      this.runs.shift()
    }
    return taken
  }
}

// Rows at or after the last one of a lane that has more may still get company: they wait.
function takeReady(lanes: readonly BookLane[]): BookRun[][] {
  const loaded = lanes.filter((lane) => lane.hasMore && lane.runs.length > 0)
  if (lanes.length === 1) {
    const [lane] = lanes
    const { runs } = lane!
    lane!.runs = []
    return [runs]
  }
  const horizon = Math.min(...loaded.map((lane) => lane.lastReceived))
  return lanes.map((lane) => lane.takeBefore(horizon))
}

function* cutAtGaps(
  contexts: readonly BookContext[],
  pieces: Iterable<BookPiece>,
  gaps: GapQueue,
): Generator<WalkItem> {
  let open: BookPiece[] = []
  for (const piece of pieces) {
    const { columns, firstSequence, source } = piece
    const { key } = contexts[source]!
    const isBefore = (row: number): boolean =>
      gaps.isBefore(columns.received[row]!, key, firstSequence + row)
    let from = piece.from
    // Received times do not decrease: a gap that is not before the last row is before none.
    while (isBefore(piece.to - 1)) {
      let row = from
      while (!isBefore(row)) row++
      if (row > from) open.push({ ...piece, from, to: row })
      if (open.length > 0) yield { kind: 'book', contexts, pieces: open }
      open = []
      yield { kind: 'gap', gap: gaps.take()! }
      from = row
    }
    open.push(from === piece.from ? piece : { ...piece, from })
  }
  if (open.length > 0) yield { kind: 'book', contexts, pieces: open }
}
