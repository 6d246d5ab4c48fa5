import { VENUES } from '@priorbook/sdk/domain'
import type { ApiContext } from '../route.ts'
import { createArrowSink } from './arrow-sink.ts'
import { describeScope } from './describe.ts'
import { explainNothing } from './explain-nothing.ts'
import { createParquetSink } from './parquet-sink.ts'
import type { BulkFormat } from './params.ts'
import type { BulkScope } from './scope.ts'
import { streamFile, type FileObserver } from './stream.ts'
import { streamTape } from './tape-export.ts'
import { walk } from './walk.ts'
import type { WalkItem } from './walk-item.ts'
import { createColumnWriter } from './write-columns.ts'
import { createCsvWriter, createNdjsonWriter } from './write-text.ts'
import type { BulkWriter } from './writer.ts'

/** The bytes of a download in one format. */
export function makeFile(
  context: ApiContext,
  scope: BulkScope,
  format: BulkFormat,
  signal: AbortSignal,
  observer: FileObserver = {},
  items: AsyncIterable<WalkItem> = walk(context, scope),
): AsyncGenerator<Uint8Array> {
  const asked = { explain: () => explainNothing(context, scope), ...observer }
  return format === 'tape'
    ? streamTape(context, scope, signal, asked)
    : streamFile(items, scope, createWriter(scope, format), signal, asked)
}

function createWriter(scope: BulkScope, format: Exclude<BulkFormat, 'tape'>): BulkWriter {
  switch (format) {
    case 'ndjson':
      return createNdjsonWriter(scope)
    case 'csv':
      return createCsvWriter(scope)
    case 'arrow':
      return createColumnWriter(scope, (specs) => createArrowSink(specs, metadataOf(scope)))
    case 'parquet':
      return createColumnWriter(scope, (specs) => createParquetSink(specs, metadataOf(scope)))
  }
}

/** What files of columns say about themselves. */
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
