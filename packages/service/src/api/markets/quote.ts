import { printScaled, VENUES, type MarketRecord } from '@priorbook/sdk/domain'
import { applyRows, Ladder, loadBase, SAMPLE_DECIMALS, type BookRun } from '@priorbook/sdk/tape'
import {
  decimalJson,
  timeJson,
  type DecimalJson,
  type ValueStyle,
  type QuoteJson,
} from '@priorbook/sdk/wire'
import { firstKeyOf } from './instruments.ts'
import type { Quote, QuoteQuery } from '../../store/store.ts'
import type { ApiContext } from '../route.ts'

/** Reads the newest book and execution of the first outcome of each market; nothing older than `since`. */
export async function readQuotes(
  context: ApiContext,
  records: readonly MarketRecord[],
  since: number,
  style: ValueStyle,
): Promise<readonly QuoteJson[]> {
  const queries: (QuoteQuery | undefined)[] = []
  for (const record of records) {
    const { venue } = record
    const key = await firstKeyOf(context, record)
    const last = lastOf(record, key)
    queries.push(key === undefined ? undefined : { venue, key, last, since })
  }
  const asked = queries.filter((query) => query !== undefined)
  const quotes = (await context.store.quotes(asked))[Symbol.iterator]()
  return records.map((record, at) => {
    const quote = queries[at] === undefined ? undefined : quotes.next().value
    return toQuote(record, quote ?? { gaps: 0 }, since, style)
  })
}

function toQuote(
  { venue }: MarketRecord,
  { extent, top, last, gaps }: Quote,
  since: number,
  style: ValueStyle,
): QuoteJson {
  const { bid, ask, decimals: places = 0 } = top ?? {}
  const price = (ticks: number | undefined): DecimalJson | null =>
    ticks === undefined ? null : decimalJson(printScaled(ticks, places), style)
  const isRecent = last !== undefined && last.received >= since
  const { hasTrades, priceDecimals } = VENUES[venue]
  const decimals = hasTrades ? priceDecimals : SAMPLE_DECIMALS
  return {
    last_price: isRecent ? decimalJson(printScaled(last.value, decimals), style) : null,
    last_price_time: isRecent ? timeJson(last.received, style) : null,
    best_bid: price(bid),
    best_ask: price(ask),
    spread: bid === undefined || ask === undefined ? null : price(ask - bid),
    quote_time: extent === undefined ? null : timeJson(extent.lastReceived, style),
    coverage: {
      first_time:
        extent === undefined ? null : timeJson(Math.max(extent.firstReceived, since), style),
      last_time: extent === undefined ? null : timeJson(extent.lastReceived, style),
      observations: extent === undefined ? 0 : extent.lastSequence - extent.firstSequence + 1,
      gaps,
    },
  }
}

// Where a venue has no trades, samples say what the last one was.
function lastOf(record: MarketRecord, key: string | undefined): QuoteQuery['last'] {
  if (VENUES[record.venue].hasTrades) return key === undefined ? undefined : { key }
  const tokenId = record.outcomes.find(({ index }) => index === 0)?.tokenId
  return tokenId === undefined ? undefined : { key: tokenId, metric: 'last_trade' }
}

/** The book after the last row of a run. */
export function ladderOf(run: BookRun): Ladder {
  const { columns, to } = run
  const ladder = new Ladder(columns.priceDecimals)
  loadBase(ladder, columns)
  applyRows(ladder, columns, 0, to)
  return ladder
}
