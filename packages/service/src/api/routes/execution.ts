import {
  flagNames,
  GAP_REASONS,
  parseScaled,
  printScaled,
  PriorbookError,
  VENUES,
  type Gap,
  type MarketRecord,
  type VenueId,
} from '@priorbook/sdk/domain'
import { ABSENT } from '@priorbook/sdk/tape'
import {
  decimalJson,
  Problem,
  timeJson,
  toGapJson,
  toMarketJson,
  marketContract,
  DISCLAIMER,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import type { AsOf } from '../../store/store.ts'
import { VENUE_ADDRESSES, type VenueAddress } from '../markets/addresses.ts'
import type { MarketInstrument } from '../markets/instruments.ts'
import { findMarket } from '../markets/find.ts'
import { defineRoute, type ApiContext, type Notice, type Route } from '../route.ts'
import { captureBegins } from '../catalogue/empty.ts'
import { chooseBook, type ChosenBook } from '../execution/choose-book.ts'
import { takerFee } from '../execution/taker-fee.ts'
import { walkLadder } from '../execution/walk-ladder.ts'
import { printExact } from '../execution/exact.ts'
import { styleOf, windowNotice, noticeMeta } from '../catalogue/page.ts'
import { ladderOf } from '../markets/quote.ts'

/** What an order would have met, with the evidence for it. */
export const EXECUTION_ROUTES: readonly Route[] = VENUE_ADDRESSES.map(executionRoute)

function executionRoute(address: VenueAddress): Route {
  const { venue } = address
  return defineRoute(marketContract('execution', venue), async (request, context) => {
    const { query } = request
    const style = styleOf(query)
    const state = await findMarket(context, address, request.path, request.grant)
    const { record } = state
    const now = context.now()
    const at = query.at ?? now
    const size = parseSize(query.size, venue)
    const chosen = await chooseBook(context, record, query)
    const window = request.grant.windowStart(now)
    const known = (await context.store.market(venue, record.marketId, at)) ?? state
    const meta = { market: toMarketJson(known, style), disclaimer: DISCLAIMER }
    const nothing = (notice: Notice) =>
      ({ kind: 'data', data: null, count: 0, meta: { ...meta, ...noticeMeta(notice) } }) as const
    if (at < window) {
      return nothing(windowNotice({ asked: at, window, from: window, end: at })!)
    }
    const { known_at: knownAt } = query
    const { key } = chosen.instrument
    const asOf = await context.store.asOf({
      venue,
      key,
      at,
      ...(knownAt === undefined ? {} : { knownAt }),
    })
    if (asOf.run === undefined) return nothing(await whyNone(context, record, asOf, at, style))
    const data = await evaluate(context, known.record, asOf.run, chosen, {
      at,
      size,
      side: query.side,
      style,
    })
    const short: Notice | undefined = data.is_complete
      ? undefined
      : {
          code: 'insufficient_depth',
          message: 'The recorded book does not hold the whole size.',
          filled_size: data.filled_size,
        }
    return { kind: 'data', data, count: 1, meta: { ...meta, ...noticeMeta(short) } }
  })
}

function parseSize(text: string, venue: VenueId): number {
  const { sizeDecimals } = VENUES[venue]
  let size = 0
  try {
    size = parseScaled(text, sizeDecimals)
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
  }
  if (size > 0) return size
  throw new Problem('invalid_parameter', `size is ${JSON.stringify(text)}, not a size`, {
    param: 'size',
    hint: `A positive decimal with at most ${sizeDecimals} decimals, such as 100.`,
  })
}

async function evaluate(
  context: ApiContext,
  record: MarketRecord,
  run: NonNullable<AsOf['run']>,
  chosen: ChosenBook,
  order: {
    readonly at: number
    readonly size: number
    readonly side: 'buy' | 'sell'
    readonly style: ValueStyle
  },
) {
  const { at, size, side, style } = order
  const { instrument, isComplement } = chosen
  const recorded = ladderOf(run)
  const ladder = isComplement ? recorded.complement() : recorded
  const decimals = { price: ladder.decimals, size: VENUES[record.venue].sizeDecimals }
  const walk = walkLadder(side === 'buy' ? ladder.asks() : ladder.bids(), size, decimals)
  const price = (ticks: number) => decimalJson(printScaled(ticks, decimals.price), style)
  const amount = (units: number) => decimalJson(printScaled(units, decimals.size), style)
  const row = run.to - 1
  const { columns } = run
  const sequence = run.firstSequence + row
  const received = columns.received[row]!
  const source = columns.source[row]!
  const best = walk.taken[0]?.price
  const worst = walk.taken.at(-1)?.price
  const gap = await nextGap(context, instrument, at)
  return {
    venue: record.venue,
    market_id: record.marketId,
    outcome: chosen.outcome ?? null,
    token_id: chosen.tokenId ?? null,
    side,
    at: timeJson(at, style),
    size: amount(size),
    filled_size: amount(walk.filled),
    is_complete: walk.filled === size,
    vwap: walk.vwap === undefined ? null : decimalJson(walk.vwap.text, style),
    vwap_is_exact: walk.vwap?.isExact ?? null,
    cost: decimalJson(printExact(walk.cost), style),
    best_price: best === undefined ? null : price(best),
    worst_price: worst === undefined ? null : price(worst),
    price_range: best === undefined ? null : price(Math.abs(best - worst!)),
    levels: {
      price: walk.taken.map((level) => price(level.price)),
      size: walk.taken.map((level) => amount(level.size)),
    },
    fee: toFeeJson(takerFee(record, walk.taken, decimals), style),
    evidence: {
      row_id: `${record.venue}:${instrument.key}:${sequence}`,
      sequence,
      is_complement: isComplement,
      received_time: timeJson(received, style),
      source_time: source === ABSENT ? null : timeJson(source, style),
      book_age_ms: decimalJson(printScaled(at - received, 3), style),
      flags: flagNames(columns.flags[row]!),
      next_gap:
        gap === undefined
          ? null
          : {
              ...toGapJson(gap, style),
              distance_ms: decimalJson(printScaled(gap.start - at, 3), style),
            },
    },
    disclaimer: DISCLAIMER,
  }
}

function toFeeJson(fee: ReturnType<typeof takerFee>, style: ValueStyle) {
  if (fee.amount === null) return { amount: null, rate: null, formula: null, reason: fee.reason }
  return {
    amount: decimalJson(fee.amount, style),
    rate: decimalJson(fee.rate, style),
    formula: fee.formula,
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

async function whyNone(
  context: ApiContext,
  record: MarketRecord,
  { gap, lastBefore }: AsOf,
  at: number,
  style: ValueStyle,
): Promise<Notice> {
  const last =
    lastBefore === undefined
      ? null
      : { sequence: lastBefore.sequence, received_time: timeJson(lastBefore.received, style) }
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
