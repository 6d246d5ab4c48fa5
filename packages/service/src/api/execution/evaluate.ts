import {
  flagNames,
  GAP_REASONS,
  printScaled,
  VENUES,
  type Gap,
  type MarketRecord,
} from '@priorbook/sdk/domain'
import { ABSENT } from '@priorbook/sdk/tape'
import { decimalJson, DISCLAIMER, timeJson, toGapJson, type ValueStyle } from '@priorbook/sdk/wire'
import type { AsOf } from '../../store/store.ts'
import { captureBegins } from '../pages/notices.ts'
import { findRemoved } from '../pages/removed-rows.ts'
import type { MarketInstrument } from '../markets/instruments.ts'
import { ladderOf } from '../markets/quote.ts'
import type { ApiContext, Notice } from '../route.ts'
import type { ChosenBook } from './choose-book.ts'
import { printExact } from './exact.ts'
import { takerFee } from './venues/taker-fee.ts'
import { walkLadder, type LadderFill } from './walk-ladder.ts'

/** An order to evaluate, in the units of its venue. */
export type EvaluatedOrder = {
  readonly at: number
  /** How long the order is on its way, in milliseconds, and when it arrives. */
  readonly latency: number
  readonly arrival: number
  readonly size: number
  readonly side: 'buy' | 'sell'
  readonly style: ValueStyle
}

type Run = NonNullable<AsOf['run']>

/** Fills an order from the recorded book at its arrival, and shows the evidence. */
export async function evaluate(
  context: ApiContext,
  record: MarketRecord,
  run: Run,
  chosen: ChosenBook,
  order: EvaluatedOrder,
) {
  const { at, latency, arrival, size, side, style } = order
  const { instrument, isComplement } = chosen
  const recorded = ladderOf(run)
  const ladder = isComplement ? recorded.complement() : recorded
  const decimals = { price: ladder.decimals, size: VENUES[record.venue].sizeDecimals }
  const walk = walkLadder(side === 'buy' ? ladder.asks() : ladder.bids(), size, decimals)
  const gap = await nextGap(context, instrument, arrival)
  const amount = (units: number) => decimalJson(printScaled(units, decimals.size), style)
  return {
    venue: record.venue,
    market_id: record.marketId,
    outcome: chosen.outcome ?? null,
    token_id: chosen.tokenId ?? null,
    side,
    at: timeJson(at, style),
    latency_ms: latency,
    arrival_time: timeJson(arrival, style),
    size: amount(size),
    filled_size: amount(walk.filled),
    is_complete: walk.filled === size,
    ...toPricesJson(walk, decimals, style),
    fee: toFeeJson(takerFee(record, walk.taken, decimals, order), style),
    evidence: toEvidenceJson(run, chosen, gap, arrival, style),
    disclaimer: DISCLAIMER,
  }
}

function toPricesJson(
  { taken, vwap, cost }: LadderFill,
  decimals: { readonly price: number; readonly size: number },
  style: ValueStyle,
) {
  const price = (ticks: number) => decimalJson(printScaled(ticks, decimals.price), style)
  const best = taken[0]?.price
  const worst = taken.at(-1)?.price
  return {
    vwap: vwap === undefined ? null : decimalJson(vwap.text, style),
    vwap_is_exact: vwap?.isExact ?? null,
    cost: decimalJson(printExact(cost), style),
    best_price: best === undefined ? null : price(best),
    worst_price: worst === undefined ? null : price(worst),
    price_range: best === undefined ? null : price(Math.abs(best - worst!)),
    levels: {
      price: taken.map((level) => price(level.price)),
      size: taken.map(({ size }) => decimalJson(printScaled(size, decimals.size), style)),
    },
  }
}

function toEvidenceJson(
  { columns, firstSequence, to }: Run,
  { instrument, isComplement }: ChosenBook,
  gap: Gap | undefined,
  at: number,
  style: ValueStyle,
) {
  const row = to - 1
  const sequence = firstSequence + row
  const received = columns.received[row]!
  const source = columns.source[row]!
  const millis = (micros: number) => decimalJson(printScaled(micros, 3), style)
  return {
    row_id: `${instrument.venue}:${instrument.key}:${sequence}`,
    sequence,
    is_complement: isComplement,
    received_time: timeJson(received, style),
    source_time: source === ABSENT ? null : timeJson(source, style),
    book_age_ms: millis(at - received),
    flags: flagNames(columns.flags[row]!),
    next_gap:
      gap === undefined ? null : { ...toGapJson(gap, style), distance_ms: millis(gap.start - at) },
  }
}

function toFeeJson(fee: ReturnType<typeof takerFee>, style: ValueStyle) {
  if (fee.amount === null) {
    return { amount: null, rate: null, formula: null, source: null, reason: fee.reason }
  }
  return {
    amount: decimalJson(fee.amount, style),
    rate: decimalJson(fee.rate, style),
    formula: fee.formula,
    source: fee.source,
    reason: null,
  }
}

async function nextGap(
  { store }: ApiContext,
  { venue, key, marketId }: MarketInstrument,
  at: number,
): Promise<Gap | undefined> {
  let next: Gap | undefined
  for (const name of new Set([key, marketId, ''])) {
    const gaps = await store.gaps({ venue, key: name, start: at, limit: 8 })
    const first = gaps.find(({ start }) => start >= at)
    if (first !== undefined && (next === undefined || first.start < next.start)) next = first
  }
  return next
}

/** That the last book before an order arrives is older than the request allows; undefined if not. */
export function explainStale(
  { columns, firstSequence, to }: Run,
  arrival: number,
  maxAge: number | undefined,
  style: ValueStyle,
): Notice | undefined {
  const received = columns.received[to - 1]!
  if (maxAge === undefined || arrival - received <= maxAge * 1000) return undefined
  return {
    code: 'stale_book',
    message: 'The last book recorded before the order arrives is older than max_age_ms.',
    book_age_ms: decimalJson(printScaled(arrival - received, 3), style),
    max_age_ms: maxAge,
    last_before: { sequence: firstSequence + to - 1, received_time: timeJson(received, style) },
  }
}

/** Tells why there is no book at a time. */
export async function explainNoBook(
  context: ApiContext,
  record: MarketRecord,
  { key }: MarketInstrument,
  { gap: known, lastBefore }: AsOf,
  at: number,
  style: ValueStyle,
): Promise<Notice> {
  const last =
    lastBefore === undefined
      ? null
      : { sequence: lastBefore.sequence, received_time: timeJson(lastBefore.received, style) }
  const gap = known ?? (await findRemoved(context.store, { venue: record.venue, key }, at))
  if (gap !== undefined) {
    const message = GAP_REASONS[gap.reason]
    return { code: gap.reason, message, gap: toGapJson(gap, style), last_before: last }
  }
  const begins = await captureBegins(context, record, 'books')
  const code =
    begins !== undefined && at < begins
      ? 'before_capture'
      : record.openTime !== undefined && at < record.openTime
        ? 'market_not_open'
        : 'no_book'
  const message =
    code === 'no_book' ? 'No book of the market was recorded by then.' : GAP_REASONS[code]
  return { code, message, last_before: last }
}
