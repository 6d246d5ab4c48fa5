import { createHash } from 'node:crypto'
import type { Gap } from '@priorbook/sdk/domain'
import { toGapJson, type FileFormat } from '@priorbook/sdk/wire'
import { yieldToEventLoop } from '../../lib/yielder.ts'
import { distinctGaps } from '../../rows/index.ts'
import type { ApiContext, Notice } from '../route.ts'
import { columnsOf, typeName } from './columns.ts'
import { CONTENT_TYPES, describeScope, fileNameOf, keysOf, type BulkScope } from './scope.ts'
import { makeFile } from './file.ts'
import { rememberFacts } from './finished.ts'
import { headsOf, KINDS, type FileReceipt } from './tally.ts'
import { csvColumnsOf } from './text.ts'
import { walk, walkMarkets, type WalkItem } from './bulk-walk.ts'

// Max gaps in a manifest; more are only counted, so memory does not grow with the family.
const GAPS_MAX = 10_000

/** A manifest and what a reader should know about it. */
export type Manifest = {
  readonly data: Readonly<Record<string, unknown>>
  readonly gaps: readonly unknown[]
  readonly notices: readonly Notice[]
}

/**
 * Describes files exactly. Every requested format is rendered once and only hashed: bytes and SHA-256 are
 * those of the download before any content encoding. The download of a final range has the same bytes.
 */
export async function describeFiles(
  context: ApiContext,
  scope: BulkScope,
  formats: readonly FileFormat[],
  signal: AbortSignal,
): Promise<Manifest> {
  const files: unknown[] = []
  let gaps: Gap[] = []
  let receipt: FileReceipt | undefined
  for (const format of formats) {
    const hash = createHash('sha256')
    let bytes = 0
    gaps = []
    const observer = {
      onGap(gap: Gap) {
        if (gaps.length < GAPS_MAX) gaps.push(gap)
      },
      onReceipt(made: FileReceipt) {
        receipt = made
      },
    }
    for await (const piece of makeFile(context, scope, format, signal, observer)) {
      hash.update(piece)
      bytes += piece.length
    }
    // Where the client went away the file ended early: its facts are not those of the whole one.
    signal.throwIfAborted()
    const facts = { bytes, sha256: hash.digest('hex') }
    if (scope.isFinal) rememberFacts(context, scope, format, facts)
    files.push({ ...fileOf(scope, format), ...facts })
  }
  if (receipt === undefined) throw new DOMException('the client went away', 'AbortError')
  const { rows, notice: notices = [], ...rest } = receipt
  // Every market of a family meets the gaps of its venue; here they are listed once.
  const unique = distinctGaps(gaps)
  const instruments = await headsOf(context.store, scope, receipt.instruments)
  const data = {
    ...describeScope(scope),
    is_estimate: false,
    rows,
    markets: rest.markets,
    time_range: { first: rest.first_received_time, last: rest.last_received_time },
    schema: schemaOf(scope),
    files,
    gap_count: rest.gaps,
    receipt: { rows, ...rest, instruments },
  }
  return { data, gaps: unique.map((gap) => toGapJson(gap, scope.style)), notices }
}

/** Describes files quickly: rows from the sequences at the edges of the range, bytes from a few rows. */
export async function estimateFiles(
  context: ApiContext,
  scope: BulkScope,
  formats: readonly FileFormat[],
  signal: AbortSignal,
): Promise<Manifest> {
  const { rows, markets } = await estimateRows(context, scope, signal)
  const files: unknown[] = []
  for (const format of formats) {
    const bytes = await estimateFile(context, scope, format, rows, signal)
    files.push({ ...fileOf(scope, format), bytes, sha256: null })
  }
  const data = {
    ...describeScope(scope),
    is_estimate: true,
    rows,
    markets,
    time_range: null,
    schema: schemaOf(scope),
    files,
    gap_count: null,
    receipt: null,
  }
  return { data, gaps: [], notices: scope.notices }
}

function fileOf(scope: BulkScope, format: FileFormat): Readonly<Record<string, unknown>> {
  return { format, file_name: fileNameOf(scope, format), content_type: CONTENT_TYPES[format] }
}

function schemaOf(scope: BulkScope): unknown {
  const columns = columnsOf(scope).map((spec) => ({
    name: spec.name,
    type: typeName(spec),
    is_nullable: spec.isNullable,
  }))
  return { columns, csv: csvColumnsOf(scope) }
}

// Rows that are rendered to estimate the length of a row.
const SAMPLE_ROWS = 512

/**
 * Counts rows without reading them: sequences have no holes, so the first and the last one in the range give
 * the number. Only chunks at the edges of the range are opened; damaged rows are counted too.
 */
async function estimateRows(
  context: ApiContext,
  scope: BulkScope,
  signal: AbortSignal,
): Promise<{ rows: number; markets: number }> {
  let rows = 0
  let markets = 0
  if (scope.start >= scope.end) return { rows, markets }
  for (const { key } of scope.references ?? []) rows += await countRows(context, scope, key)
  if (scope.references !== undefined) return { rows, markets }
  for await (const { record } of walkMarkets(context, scope)) {
    let own = 0
    for (const key of await keysOf(context, record, scope)) {
      own += await countRows(context, scope, key)
    }
    rows += own
    if (own > 0) markets++
    await yieldToEventLoop()
    signal.throwIfAborted()
  }
  return { rows, markets }
}

/** Estimates the length of a file from its number of rows. */
async function estimateFile(
  context: ApiContext,
  scope: BulkScope,
  format: FileFormat,
  rows: number,
  signal: AbortSignal,
): Promise<number> {
  if (format === 'tape') return estimateTape(context, scope, rows)
  const empty = await lengthOf(makeFile(context, scope, format, signal, {}, { items: nothing() }))
  if (rows === 0) return empty
  let seen = 0
  const some = firstRows(walk(context, scope), (count) => {
    seen += count
    return seen < SAMPLE_ROWS
  })
  const length = await lengthOf(makeFile(context, scope, format, signal, {}, { items: some }))
  return Math.round(empty + ((length - empty) * rows) / Math.max(1, seen))
}

async function countRows(context: ApiContext, scope: BulkScope, key: string): Promise<number> {
  const { store } = context
  const { venue, start, end, dataset, metric, knownAt } = scope
  const query = { venue, key, start, end, limit: 1, knownAt }
  if (dataset === 'books') {
    const facts = await store.instrument({ venue, key })
    if (facts === undefined) return 0
    const { firstReceived, lastReceived, firstSequence, lastSequence } = facts
    if (firstReceived >= end || lastReceived < start) return 0
    if (firstReceived >= start && lastReceived < end && knownAt === undefined) {
      return lastSequence - firstSequence + 1
    }
    const first = (await store.books({ ...query, order: 'asc' })).runs[0]
    const last = (await store.books({ ...query, order: 'desc' })).runs.at(-1)
    if (first === undefined || last === undefined) return 0
    return last.firstSequence + last.to - (first.firstSequence + first.from)
  }
  const read = (order: 'asc' | 'desc'): Promise<{ readonly ordinals: readonly number[] }> =>
    dataset === 'trades'
      ? store.trades({ ...query, order })
      : store.samples({ ...query, order, metric: metric! })
  const [first] = (await read('asc')).ordinals
  const [last] = (await read('desc')).ordinals
  return first === undefined || last === undefined ? 0 : last - first + 1
}

/** Estimates by the bytes per row of the first stored chunk; chunks of one family are alike. */
async function estimateTape(context: ApiContext, scope: BulkScope, rows: number): Promise<number> {
  const kind = KINDS[scope.dataset]
  for await (const key of keysOfScope(context, scope)) {
    const { venue, metric = '', start, end } = scope
    const query = { venue, key, kind, metric, start, end }
    for await (const chunk of context.store.chunksOfRange(query)) {
      if (chunk.bytes === undefined) continue
      return Math.round((rows * chunk.bytes.length) / chunk.count) + FRAMES_ABOUT
    }
  }
  return FRAMES_ABOUT
}

async function* keysOfScope(context: ApiContext, scope: BulkScope): AsyncGenerator<string> {
  for (const { key } of scope.references ?? []) yield key
  if (scope.references !== undefined) return
  for await (const { record } of walkMarkets(context, scope)) {
    yield* await keysOf(context, record, scope)
  }
}

// Bytes of header, market record and receipt of a container.
const FRAMES_ABOUT = 3000

async function* nothing(): AsyncGenerator<WalkItem> {
  // A file without rows.
}

async function* firstRows(
  items: AsyncIterable<WalkItem>,
  more: (rows: number) => boolean,
): AsyncGenerator<WalkItem> {
  for await (const item of items) {
    let rows = 0
    if (item.kind === 'book') for (const { from, to } of item.pieces) rows += to - from
    else if ('rows' in item) rows = item.rows.length
    yield item
    if (!more(rows)) return
  }
}

async function lengthOf(file: AsyncIterable<Uint8Array>): Promise<number> {
  let length = 0
  for await (const { length: more } of file) length += more
  return length
}
