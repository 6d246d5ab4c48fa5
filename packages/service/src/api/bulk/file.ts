import { VENUES } from '@priorbook/sdk/domain'
import type { FileFormat } from '@priorbook/sdk/wire'
import type { ApiContext } from '../route.ts'
import { createArrowSink } from './arrow.ts'
import { describeScope, explainNothing, type BulkScope } from './scope.ts'
import { createColumnWriter } from './fill.ts'
import { createParquetSink } from './parquet.ts'
import { readToRows } from './read-to-rows.ts'
import { streamFile, type BulkWriter, type FileObserver } from './stream.ts'
import { openTape, streamTape, type BegunTape } from './tape.ts'
import { createCsvWriter, createNdjsonWriter } from './text.ts'
import { walk, type WalkItem } from './bulk-walk.ts'

/** The contents of a file whose first rows were read: items, or the pieces of a tape. */
export type BegunFile = { readonly items?: AsyncIterable<WalkItem>; readonly tape?: BegunTape }

/** Reads the first rows of a file before its bytes are made; throws where they cannot be read. */
export async function beginFile(
  context: ApiContext,
  scope: BulkScope,
  format: FileFormat,
  signal: AbortSignal,
): Promise<BegunFile> {
  if (format !== 'tape') return { items: await readToRows(walk(context, scope), signal) }
  const { tally, pieces } = openTape(context, scope)
  return { tape: { tally, pieces: await readToRows(pieces, signal) } }
}

/** The bytes of a download in one format. */
export function makeFile(
  context: ApiContext,
  scope: BulkScope,
  format: FileFormat,
  signal: AbortSignal,
  observer: FileObserver = {},
  begun: BegunFile = {},
): AsyncGenerator<Uint8Array> {
  const asked = { explain: () => explainNothing(context, scope), ...observer }
  if (format === 'tape') return streamTape(context, scope, signal, asked, begun.tape)
  const items = begun.items ?? walk(context, scope)
  return streamFile(items, scope, createWriter(scope, format), signal, asked)
}

function createWriter(scope: BulkScope, format: Exclude<FileFormat, 'tape'>): BulkWriter {
  switch (format) {
    case 'ndjson':
      return createNdjsonWriter(scope)
    case 'csv':
      return createCsvWriter(scope)
    case 'arrow':
      return createColumnWriter(scope, (specs) => createArrowSink(specs, metadataOf(scope)))
    case 'parquet':
      return createParquetWriter(scope)
  }
}

/** Writes a walk as one Parquet file. */
export function createParquetWriter(scope: BulkScope): BulkWriter {
  return createColumnWriter(scope, (specs) => createParquetSink(specs, metadataOf(scope)))
}

/** The metadata inside Arrow and Parquet files. */
function metadataOf(scope: BulkScope): ReadonlyMap<string, string> {
  const { priceUnit, sizeUnit, volumeUnit, collateral } = VENUES[scope.venue].units
  const units = {
    price_unit: priceUnit,
    size_unit: sizeUnit,
    volume_unit: volumeUnit,
    collateral,
  }
  return new Map([
    ['priorbook.scope', JSON.stringify(describeScope(scope))],
    ['priorbook.units', JSON.stringify(units)],
  ])
}
