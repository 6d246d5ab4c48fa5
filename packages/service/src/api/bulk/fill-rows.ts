import { toSampleJson, toTradeJson } from '@priorbook/sdk/wire'
import { parseScaled } from '@priorbook/sdk/domain'
import { TextColumn, UniqueColumn, type ColumnBatch } from './column-batch.ts'
import type { WalkItem } from './walk-item.ts'

type RowsItem = Extract<WalkItem, { readonly kind: 'trade' | 'sample' }>

/** Fills columns with rows [from, to) of trades or samples, from the values that the wire has. */
export function fillRows(batch: ColumnBatch, item: RowsItem, from: number, to: number): void {
  for (let index = from; index < to; index++) push(batch, valuesOf(item, index))
  batch.rows += to - from
}

/** The wire's row, with decimals as text and times as numbers, and `native` beside the rest. */
function valuesOf(item: RowsItem, index: number): Readonly<Record<string, unknown>> {
  const style = { numberFormat: 'string', timeFormat: 'epoch_us' } as const
  if (item.kind === 'sample') {
    const { columns, row, ordinal, source } = item.rows[index]!
    return { ...toSampleJson(columns, row, ordinal, item.contexts[source]!, style) }
  }
  const { columns, row, ordinal, source } = item.rows[index]!
  const { native, ...rest } = toTradeJson(columns, row, ordinal, item.contexts[source]!, style)
  return {
    ...rest,
    native_taker_side: native.taker_side,
    native_sid: native.sid,
    native_seq: native.seq,
  }
}

function push(batch: ColumnBatch, values: Readonly<Record<string, unknown>>): void {
  for (const column of batch.columns) {
    const { name, type } = column.spec
    const value = values[name] ?? undefined
    if (column instanceof UniqueColumn) column.push(value as string)
    else if (column instanceof TextColumn) {
      const text = Array.isArray(value) ? value.join('|') : (value as string | undefined)
      column.pushCode(column.codeOf(text))
    } else if (value === undefined) column.pushNull()
    else if (type.kind === 'decimal') column.push(parseScaled(value as string, type.scale))
    else column.push(value as number)
  }
}
