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
    const [first] = await instrumentsOf(context, record)
    const last = lastOf(record, first?.key)
    queries.push(first === undefined ? undefined : { venue, key: first.key, last, since })
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
  { facts, run, last, gaps }: Quote,
  since: number,
  style: ValueStyle,
): QuoteJson {
  const ladder = run === undefined ? undefined : loadRun(scratchFor(run), run)
  const price = (ticks: number): DecimalJson | null =>
    decimalJson(printScaled(ticks, ladder!.decimals), style)
  const hasBid = ladder !== undefined && ladder.bestBid !== 0
  const hasAsk = ladder !== undefined && ladder.bestAsk !== ladder.one
  const isRecent = last !== undefined && last.received >= since
  const { hasTrades, priceDecimals } = VENUES[venue]
  const decimals = hasTrades ? priceDecimals : SAMPLE_DECIMALS
  return {
    last_price: isRecent ? decimalJson(printScaled(last.value, decimals), style) : null,
    last_price_time: isRecent ? timeJson(last.received, style) : null,
    best_bid: hasBid ? price(ladder.bestBid) : null,
    best_ask: hasAsk ? price(ladder.bestAsk) : null,
    spread: hasBid && hasAsk ? price(ladder.bestAsk - ladder.bestBid) : null,
    quote_time: facts === undefined ? null : timeJson(facts.lastReceived, style),
    coverage: {
      first_time:
        facts === undefined ? null : timeJson(Math.max(facts.firstReceived, since), style),
      last_time: facts === undefined ? null : timeJson(facts.lastReceived, style),
      observations: facts === undefined ? 0 : facts.lastSequence - facts.firstSequence + 1,
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

// One ladder for each number of decimals: a list has hundreds of quotes, each of which is read at once.
const scratch: Ladder[] = []

function scratchFor({ columns: { priceDecimals } }: BookRun): Ladder {
  return (scratch[priceDecimals] ??= new Ladder(priceDecimals))
}

/** The book after the last row of a run. */
export function ladderOf(run: BookRun): Ladder {
  return loadRun(new Ladder(run.columns.priceDecimals), run)
}

function loadRun(ladder: Ladder, { columns, to }: BookRun): Ladder {
  loadBase(ladder, columns)
  applyRows(ladder, columns, 0, to)
  return ladder
}
