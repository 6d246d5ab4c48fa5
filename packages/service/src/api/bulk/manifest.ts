import { createHash } from 'node:crypto'
import type { Gap } from '@priorbook/sdk/domain'
import { toGapJson } from '@priorbook/sdk/wire'
import { distinctGaps } from '../../rows/index.ts'
import type { ApiContext, Notice } from '../route.ts'
import { columnsOf, typeName } from './columns.ts'
import { CONTENT_TYPES, describeScope, fileNameOf } from './describe.ts'
import { estimateFile, estimateRows } from './estimate.ts'
import { makeFile } from './file.ts'
import type { BulkFormat } from './params.ts'
import type { BulkScope } from './scope.ts'
import { headsOf, type FileReceipt } from './tally.ts'
import { csvColumnsOf } from './write-text.ts'

// More gaps than this are counted and not listed: memory does not grow with the family.
const GAPS_MAX = 10_000

/** A manifest and what a reader should know about it. */
export type Manifest = {
  readonly data: Readonly<Record<string, unknown>>
  readonly gaps: readonly unknown[]
  readonly notices: readonly Notice[]
}

/**
 * Describes files exactly. Every format asked for is rendered once and thrown away while it is hashed:
 * bytes and SHA-256 are those of the download before any content encoding. The download of a final
 * range repeats them byte for byte.
 */
export async function describeFiles(
  context: ApiContext,
  scope: BulkScope,
  formats: readonly BulkFormat[],
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
    files.push({ ...fileOf(scope, format), bytes, sha256: hash.digest('hex') })
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

/** Describes files quickly: rows from the numbers at the edges of the range, bytes from a few rows. */
export async function estimateFiles(
  context: ApiContext,
  scope: BulkScope,
  formats: readonly BulkFormat[],
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

function fileOf(scope: BulkScope, format: BulkFormat): Readonly<Record<string, unknown>> {
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
