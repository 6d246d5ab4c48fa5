import type { Gap } from '@priorbook/sdk/domain'
import type { BookColumns } from '@priorbook/sdk/tape'
import {
  createBookRenderer,
  renderChanges,
  toGapJson,
  toMarketJson,
  toTradeJson,
  type BookPageOptions,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import type { LiveStyle, MessageEncoder, ResyncReason } from '../../live/index.ts'
import type { MarketInstrument } from '../markets/instruments.ts'
import { toFrame } from './frame.ts'
import type { SubscribeRequest } from './request.ts'

/** How the rows of a subscription are encoded. */
export type RowStyle = LiveStyle & {
  readonly values: ValueStyle
  readonly options: BookPageOptions
}

/** The style of a request; requests for equal bytes share one name. */
export function toRowStyle({ mode, depth, style, conflateMs }: SubscribeRequest): RowStyle {
  const { numberFormat = 'number', timeFormat = 'iso' } = style
  return {
    name: `${mode} ${depth ?? 'all'} ${numberFormat} ${timeFormat} ${conflateMs}`,
    mode,
    conflateMs,
    values: { numberFormat, timeFormat },
    options: { ladders: true, depth, numberFormat, timeFormat },
  }
}

// Each row is copied into a frame before the next one is rendered.
const renderer = createBookRenderer()

/** Encodes live rows as WebSocket frames, with the same rows as REST. */
export const ROW_ENCODER: MessageEncoder<RowStyle, MarketInstrument> = {
  snapshot: (context, style, whole, sequence, previous) =>
    toFrame(
      head('snapshot', context, sequence, previous),
      wholeRow(context, style, whole, sequence),
      '}',
    ),

  update: (context, style, row, sequence, previous) =>
    toFrame(
      head('update', context, sequence, previous),
      style.mode === 'full'
        ? wholeRow(context, style, row, sequence)
        : renderChanges([runOf(row, sequence)], [context], { ...style.values, format: 'json' }),
      '}',
    ),

  trade(context, style, rows, row, ordinal, previous) {
    const body = toTradeJson(rows, row, ordinal, context, style.values)
    return toFrame(head('trade', context, ordinal, previous), JSON.stringify(body), '}')
  },

  gap: (style: RowStyle, gap: Gap) =>
    toFrame(JSON.stringify({ type: 'gap', gap: toGapJson(gap, style.values) })),

  market: (style, market) =>
    toFrame(JSON.stringify({ type: 'market', row: toMarketJson(market, style.values) })),

  resync: ({ venue, key, marketId }, after: number, reason: ResyncReason) =>
    toFrame(
      JSON.stringify({
        type: 'resync',
        key,
        venue,
        market_id: marketId,
        after_sequence: after,
        reason,
      }),
    ),
}

function head(
  type: 'snapshot' | 'update' | 'trade',
  { key }: MarketInstrument,
  sequence: number,
  previous: number | null,
): string {
  return `{"type":"${type}","key":${JSON.stringify(key)},"sequence":${sequence},"previous_sequence":${previous},"row":`
}

function wholeRow(
  context: MarketInstrument,
  { options }: RowStyle,
  whole: BookColumns,
  sequence: number,
): Uint8Array {
  return renderer.renderJsonRows([runOf(whole, sequence)], context, options)
}

function runOf(columns: BookColumns, sequence: number) {
  return { columns, firstSequence: sequence, from: 0, to: 1 }
}
