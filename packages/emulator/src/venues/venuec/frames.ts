import type { Fill, WorldEvent } from '../../core/upstream.ts'
import type { Condition } from './conditions.ts'
import { baseFeeOf, feesOf, type Fees } from './fees.ts'
import {
  complementOf,
  lastTradeText,
  priceText,
  sizeText,
  type ReadBooks,
  type TokenBook,
} from './token-book.ts'
import { descriptionOf, eventTitleOf, outcomesOf, questionOf } from './texts.ts'

/** A whole book on the socket. */
export function toBookFrame(
  condition: Condition,
  index: 0 | 1,
  readBooks: ReadBooks,
  at: number,
): object {
  const { proposition: of } = condition
  const book = readBooks(condition)[index]
  return {
    event_type: 'book',
    asset_id: condition.tokens[index],
    market: condition.conditionId,
    timestamp: String(at),
    hash: book.hashAt(at),
    bids: book.bids,
    asks: book.asks,
    tick_size: priceText(of.tick),
    last_trade_price: lastTradeText(of.lastTrade),
  }
}

/** One changed level in the terms of one token. */
type PriceChange = {
  readonly asset_id: string
  readonly price: string
  readonly size: string
  readonly side: 'BUY' | 'SELL'
  readonly hash: string
  readonly best_bid: string
  readonly best_ask: string
}

/**
 * The changes of an event for the wanted tokens. Each level shows twice, as a bid for one of the
 * tokens and as an offer of the other, that of the order's own token first (either was recorded);
 * hash and bests are those after all of it.
 */
export function toPriceChangeFrame(
  condition: Condition,
  event: Extract<WorldEvent, { kind: 'book' }>,
  books: readonly [TokenBook, TokenBook],
  wanted: readonly [boolean, boolean],
): object {
  const { conditionId, tokens } = condition
  const changes: PriceChange[] = []
  const order = condition.proposition.version % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)
  for (const { side, price, size } of event.levels) {
    for (const index of order) {
      if (!wanted[index]) continue
      const { bestBid, bestAsk } = books[index]
      changes.push({
        asset_id: tokens[index],
        price: priceText(index === 0 ? price : complementOf(price)),
        size: sizeText(size),
        side: (side === 'bid') === (index === 0) ? 'BUY' : 'SELL',
        hash: books[index].hashAt(event.at),
        best_bid: bestBid,
        best_ask: bestAsk,
      })
    }
  }
  return {
    market: conditionId,
    price_changes: changes,
    timestamp: String(event.at),
    event_type: 'price_change',
  }
}

/** A trade in the terms of the token that was traded. */
export function toTradeFrame(
  condition: Condition,
  index: 0 | 1,
  fill: Fill,
  at: number,
  hash: string,
): object {
  return {
    event_type: 'last_trade_price',
    asset_id: condition.tokens[index],
    fee_rate_bps: String(baseFeeOf(condition.proposition)),
    market: condition.conditionId,
    price: priceText(fill.price),
    size: sizeText(fill.size),
    side: fill.taker === 'buy' ? 'BUY' : 'SELL',
    timestamp: String(at),
    transaction_hash: hash,
  }
}

/** The new tick of one token; a whole book follows it. */
export function toTickFrame(
  condition: Condition,
  index: 0 | 1,
  event: Extract<WorldEvent, { kind: 'tick' }>,
): object {
  return {
    event_type: 'tick_size_change',
    asset_id: condition.tokens[index],
    market: condition.conditionId,
    old_tick_size: priceText(event.before),
    new_tick_size: priceText(event.proposition.tick),
    timestamp: String(event.at),
  }
}

/** The best prices of one token; an empty book has no spread. */
export function toBestFrame(
  condition: Condition,
  index: 0 | 1,
  { book, bestBid, bestAsk }: TokenBook,
  at: number,
): object {
  const bid = book.bids[0]?.price
  const ask = book.asks[0]?.price
  const none = bid === undefined && ask === undefined
  return {
    market: condition.conditionId,
    asset_id: condition.tokens[index],
    best_bid: bestBid,
    best_ask: none ? '0' : bestAsk,
    spread: none ? '0' : priceText((ask ?? 10_000) - (bid ?? 0)),
    timestamp: String(at),
    event_type: 'best_bid_ask',
  }
}

/** A new market, sent to every client with custom features; it is not active yet. */
export function toNewMarketFrame(condition: Condition, at: number): object {
  const { proposition: of, slug, conditionId, tokens } = condition
  const question = questionOf(of)
  const { topic } = of
  const fees = feesOf(of)
  const description = descriptionOf(of)
  return {
    id: condition.gammaId,
    question,
    market: conditionId,
    slug,
    description,
    assets_ids: tokens,
    outcomes: outcomesOf(of),
    event_message: {
      id: condition.event.id,
      ticker: condition.event.slug,
      slug: condition.event.slug,
      title: eventTitleOf(of),
      description,
    },
    timestamp: String(at),
    event_type: 'new_market',
    tags: topic === undefined ? [] : [topic.category, ...topic.tags],
    condition_id: conditionId,
    active: false,
    clob_token_ids: tokens,
    sports_market_type: topic?.kind === 'match' ? 'moneyline' : '',
    line: '',
    game_start_time: '',
    order_price_min_tick_size: priceText(of.tick),
    group_item_title: topic === undefined || topic.markets.length === 1 ? '' : of.answer.label,
    taker_base_fee: String(baseFeeOf(of)),
    fees_enabled: fees !== undefined,
    ...(fees === undefined ? {} : { fee_schedule: toSchedule(fees) }),
  }
}

function toSchedule({ rate, rebateRate }: Fees): object {
  return {
    exponent: '1',
    rate: String(rate),
    taker_only: true,
    rebate_rate: String(rebateRate),
  }
}

/** The end of a market. */
export function toResolvedFrame(condition: Condition, winner: 0 | 1, at: number): object {
  return {
    id: condition.gammaId,
    market: condition.conditionId,
    assets_ids: condition.tokens,
    winning_asset_id: condition.tokens[winner],
    winning_outcome: outcomesOf(condition.proposition)[winner],
    timestamp: String(at),
    event_type: 'market_resolved',
    tags: [],
  }
}
