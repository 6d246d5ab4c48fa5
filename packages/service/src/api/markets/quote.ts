import { printScaled, VENUES, type MarketRecord } from '@priorbook/sdk/domain'
import { applyRows, Ladder, loadBase, SAMPLE_DECIMALS, type BookRun } from '@priorbook/sdk/tape'
import {
  decimalJson,
  timeJson,
  type DecimalJson,
  type ValueStyle,
  type QuoteJson,
} from '@priorbook/sdk/wire'
import { instrumentsOf } from './instruments.ts'
import type { ApiContext } from '../route.ts'

/** Reads the newest book and execution of a market's first outcome; nothing older than `since`. */
export async function readQuote(
  context: ApiContext,
  record: MarketRecord,
  since: number,
  style: ValueStyle,
): Promise<QuoteJson> {
  const { store } = context
  const { venue } = record
  const [first] = await instrumentsOf(context, record)
  const facts = first === undefined ? undefined : await store.instrument(first)
  const hasRows = facts !== undefined && facts.firstSequence <= facts.lastSequence
  const isVisible = hasRows && facts.lastReceived >= since
  const run = isVisible ? await store.latest(facts.instrument) : undefined
  const ladder = run === undefined ? undefined : ladderOf(run)
  const price = (ticks: number): DecimalJson | null =>
    decimalJson(printScaled(ticks, ladder!.decimals), style)
  const hasBid = ladder !== undefined && ladder.bestBid !== 0
  const hasAsk = ladder !== undefined && ladder.bestAsk !== ladder.one
  const last = first === undefined ? undefined : await readLastPrice(context, record, first.key)
  const isRecent = last !== undefined && last.received >= since
  const gaps = isVisible ? await store.gaps({ venue, key: facts.instrument.key, start: since }) : []
  return {
    last_price: isRecent ? decimalJson(last.price, style) : null,
    last_price_time: isRecent ? timeJson(last.received, style) : null,
    best_bid: hasBid ? price(ladder.bestBid) : null,
    best_ask: hasAsk ? price(ladder.bestAsk) : null,
    spread: hasBid && hasAsk ? price(ladder.bestAsk - ladder.bestBid) : null,
    quote_time: isVisible ? timeJson(facts.lastReceived, style) : null,
    coverage: {
      first_time: isVisible ? timeJson(Math.max(facts.firstReceived, since), style) : null,
      last_time: isVisible ? timeJson(facts.lastReceived, style) : null,
      observations: isVisible ? facts.lastSequence - facts.firstSequence + 1 : 0,
      gaps: gaps.filter(({ reason }) => reason !== 'market_closed').length,
    },
  }
}

/** The book after the last row of a run. */
export function ladderOf({ columns, to }: BookRun): Ladder {
  const ladder = new Ladder(columns.priceDecimals)
  loadBase(ladder, columns)
  applyRows(ladder, columns, 0, to)
  return ladder
}

async function readLastPrice(
  { store }: ApiContext,
  record: MarketRecord,
  key: string,
): Promise<{ readonly price: string; readonly received: number } | undefined> {
  const { venue } = record
  const query = { venue, order: 'desc', limit: 1 } as const
  if (VENUES[venue].hasTrades) {
    const { rows, ordinals } = await store.trades({ ...query, key })
    if (ordinals.length === 0) return undefined
    const price = printScaled(rows.price[0]!, VENUES[venue].priceDecimals)
    return { price, received: rows.received[0]! }
  }
  const tokenId = record.outcomes.find(({ index }) => index === 0)?.tokenId
  if (tokenId === undefined) return undefined
  const { rows, ordinals } = await store.samples({ ...query, key: tokenId, metric: 'last_trade' })
  if (ordinals.length === 0) return undefined
  return { price: printScaled(rows.value[0]!, SAMPLE_DECIMALS), received: rows.received[0]! }
}
