import type { Gap } from '@priorbook/sdk/domain'
import type { BookColumns, BookRun, TradeColumns } from '@priorbook/sdk/tape'
import {
  createBookRenderer,
  renderChanges,
  toGapJson,
  toMarketJson,
  toTradeJson,
  type BookContext,
  type BookPageOptions,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import type { ResyncReason } from '../../live/subscriber.ts'
import type { LiveStyle } from '../../live/subscription.ts'
import type { MarketState } from '../../store/store.ts'
import { toFrame } from './frame.ts'

/** What a client may choose about the rows of a subscription. */
export type RowChoice = {
  readonly mode: 'full' | 'changes'
  readonly depth?: number | undefined
  readonly style: ValueStyle
  readonly conflateMs: number
}

// Each row is copied into a frame before the next one is rendered.
const renderer = createBookRenderer()

/** Encodes live rows as WebSocket frames, with the same rows as REST. */
export class RowStyle implements LiveStyle {
  readonly name: string
  readonly mode: 'full' | 'changes'
  readonly conflateMs: number
  private readonly options: BookPageOptions

  constructor({ mode, depth, style, conflateMs }: RowChoice) {
    const { numberFormat = 'number', timeFormat = 'iso' } = style
    this.name = `${mode} ${depth ?? 'all'} ${numberFormat} ${timeFormat} ${conflateMs}`
    this.mode = mode
    this.conflateMs = conflateMs
    const allLevels = mode === 'changes'
    this.options = { ladders: true, depth, allLevels, numberFormat, timeFormat }
  }

  snapshot(
    context: BookContext,
    whole: BookColumns,
    sequence: number,
    previous: number | null,
  ): Uint8Array {
    const row = this.wholeRow(context, whole, sequence)
    return toFrame(head('snapshot', context, sequence, previous), row, '}')
  }

  update(context: BookContext, row: BookColumns, sequence: number, previous: number): Uint8Array {
    const body =
      this.mode === 'full'
        ? this.wholeRow(context, row, sequence)
        : renderChanges([runOf(row, sequence)], [context], { ...this.options, format: 'json' })
    return toFrame(head('update', context, sequence, previous), body, '}')
  }

  trade(
    context: BookContext,
    rows: TradeColumns,
    row: number,
    ordinal: number,
    previous: number | null,
  ): Uint8Array {
    const body = toTradeJson(rows, row, ordinal, context, this.options)
    return toFrame(head('trade', context, ordinal, previous), JSON.stringify(body), '}')
  }

  gap(gap: Gap): Uint8Array {
    return toFrame(JSON.stringify({ type: 'gap', gap: toGapJson(gap, this.options) }))
  }

  market(market: MarketState): Uint8Array {
    return toFrame(JSON.stringify({ type: 'market', row: toMarketJson(market, this.options) }))
  }

  resync({ venue, key, marketId }: BookContext, after: number, reason: ResyncReason): Uint8Array {
    const names = { key, venue, market_id: marketId }
    return toFrame(JSON.stringify({ type: 'resync', ...names, after_sequence: after, reason }))
  }

  private wholeRow(context: BookContext, whole: BookColumns, sequence: number): Uint8Array {
    return renderer.renderJsonRows([runOf(whole, sequence)], context, this.options)
  }
}

function head(
  type: 'snapshot' | 'update' | 'trade',
  { key }: BookContext,
  sequence: number,
  previous: number | null,
): string {
  return `{"type":"${type}","key":${JSON.stringify(key)},"sequence":${sequence},"previous_sequence":${previous},"row":`
}

function runOf(columns: BookColumns, sequence: number): BookRun {
  return { columns, firstSequence: sequence, from: 0, to: 1 }
}
