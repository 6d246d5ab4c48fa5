import { VENUES } from '@priorbook/sdk/domain'
import type { FileFormat } from '@priorbook/sdk/wire'
import type { ApiContext } from '../route.ts'
import { createArrowSink } from './arrow.ts'
import { describeScope, explainNothing, type BulkScope } from './scope.ts'
import { createColumnWriter } from './fill.ts'
import { createParquetSink } from './parquet.ts'
import { streamFile, type BulkWriter, type FileObserver } from './stream.ts'
import { streamTape } from './tape.ts'
import { createCsvWriter, createNdjsonWriter } from './text.ts'
import { walk, type WalkItem } from './bulk-walk.ts'

/** The bytes of a download in one format. */
export function makeFile(
  context: ApiContext,
  scope: BulkScope,
  format: FileFormat,
  signal: AbortSignal,
  observer: FileObserver = {},
  items: AsyncIterable<WalkItem> = walk(context, scope),
): AsyncGenerator<Uint8Array> {
  const asked = { explain: () => explainNothing(context, scope), ...observer }
  return format === 'tape'
    ? streamTape(context, scope, signal, asked)
    : streamFile(items, scope, createWriter(scope, format), signal, asked)
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
