import { VENUES } from '@priorbook/sdk/domain'
import { SAMPLE_DECIMALS } from '@priorbook/sdk/tape'
import { LADDER_COLUMNS } from '@priorbook/sdk/wire'
import type { ColumnSpec, ColumnType } from './column-batch.ts'
import type { BulkScope } from './scope.ts'

const TEXT: ColumnType = { kind: 'text' }
const UNIQUE: ColumnType = { kind: 'text', isUnique: true }
const TIME: ColumnType = { kind: 'time' }
const INT32: ColumnType = { kind: 'int32' }
const INT64: ColumnType = { kind: 'int64' }

/**
 * The columns of Arrow and Parquet files: the names and the order of CSV, without those of sampling.
 * Decimals have the scale of the venue, so that a file has one whatever the market's tick: prices 4,
 * mid one more, sizes those of the venue. 18 digits hold every size that is stored (2^53 − 1 units).
 */
export function columnsOf(scope: BulkScope): readonly ColumnSpec[] {
  const { priceDecimals, sizeDecimals } = VENUES[scope.venue]
  const price = decimal(9, priceDecimals)
  const size = decimal(18, sizeDecimals)
  switch (scope.dataset) {
    case 'books':
      return [
        ...belongings(['condition_id', 'event_id', 'series_ticker', 'outcome', 'token_id']),
        nullable('source_time', TIME),
        column('received_time', TIME),
        column('sequence', INT64),
        nullable('best_bid', price),
        nullable('best_ask', price),
        nullable('mid', decimal(9, priceDecimals + 1)),
        nullable('spread', price),
        column('bid_levels', INT32),
        column('ask_levels', INT32),
        column('flags', TEXT),
        nullable('native_sid', INT64),
        nullable('native_connection', INT64),
        nullable('native_seq', INT64),
        ...(scope.ladders ? LADDER_COLUMNS : []).map((name) => ({
          name,
          type: name.endsWith('price') ? price : size,
          isNullable: true,
          isList: true,
        })),
      ]
    case 'trades':
      return [
        ...belongings(['condition_id', 'event_id', 'series_ticker', 'outcome', 'token_id']),
        column('trade_id', UNIQUE),
        column('price', price),
        column('size', size),
        nullable('taker_side', TEXT),
        nullable('source_time', TIME),
        column('received_time', TIME),
        column('sequence', INT64),
        column('flags', TEXT),
        nullable('native_taker_side', TEXT),
        nullable('native_sid', INT64),
        nullable('native_seq', INT64),
      ]
    case 'samples':
      return [
        ...belongings(['topic_id', 'condition_id', 'outcome', 'token_id']),
        nullable('source_time', TIME),
        column('received_time', TIME),
        column('sequence', INT64),
        column(scope.metric!, decimal(18, SAMPLE_DECIMALS)),
        column('flags', TEXT),
      ]
  }
}

/** The type of a column as the manifest names it. */
export function typeName({ type, isList }: ColumnSpec): string {
  const name =
    type.kind === 'decimal'
      ? `decimal(${type.precision}, ${type.scale})`
      : type.kind === 'time'
        ? 'timestamp[us, UTC]'
        : type.kind
  return isList ? `list<${name}>` : name
}

function belongings(names: readonly string[]): ColumnSpec[] {
  return [
    column('id', UNIQUE),
    column('venue', TEXT),
    column('market_id', TEXT),
    ...names.map((name) => nullable(name, TEXT)),
  ]
}

function column(name: string, type: ColumnType): ColumnSpec {
  return { name, type, isNullable: false, isList: false }
}

function nullable(name: string, type: ColumnType): ColumnSpec {
  return { name, type, isNullable: true, isList: false }
}

function decimal(precision: number, scale: number): ColumnType {
  return { kind: 'decimal', precision, scale }
}
