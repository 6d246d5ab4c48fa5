import type { Fill, WorldEvent } from '../../core/upstream.ts'
import { titleOf } from '../../world/round-texts.ts'
import type { Condition } from './conditions.ts'
import type { Memory } from './memory.ts'
import {
  complementOf,
  priceText,
  sizeText,
  toLevels,
  type ReadBooks,
  type TokenBook,
} from './token-book.ts'
import { descriptionOf, OUTCOMES } from './texts.ts'

/** The answer of the REST route for one token's book. */
export function toRestBook(
  condition: Condition,
  index: 0 | 1,
  readBooks: ReadBooks,
  memory: Memory,
): object {
  const { proposition: of } = condition
  const { book, hash } = readBooks(condition)[index]
  return {
    market: condition.conditionId,
    asset_id: condition.tokens[index],
    timestamp: String(memory.changedAt(of)),
    hash,
    bids: toLevels(book.bids),
    asks: toLevels(book.asks),
    min_order_size: '5',
    tick_size: priceText(of.tick),
    neg_risk: false,
    last_trade_price: lastTradeText(of.lastTrade),
  }
}

/** A whole book on the socket. */
export function toBookFrame(
  condition: Condition,
  index: 0 | 1,
  readBooks: ReadBooks,
  at: number,
): object {
  const { proposition: of } = condition
  const { book, hash } = readBooks(condition)[index]
  return {
    event_type: 'book',
    asset_id: condition.tokens[index],
    market: condition.conditionId,
    timestamp: String(at),
    hash,
    bids: toLevels(book.bids),
    asks: toLevels(book.asks),
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
      const { hash, bestBid, bestAsk } = books[index]
      changes.push({
        asset_id: tokens[index],
        price: priceText(index === 0 ? price : complementOf(price)),
        size: sizeText(size),
        side: (side === 'bid') === (index === 0) ? 'BUY' : 'SELL',
        hash,
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
    fee_rate_bps: '1000',
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
  const question = titleOf(of)
  const description = descriptionOf(of)
  return {
    id: condition.gammaId,
    question,
    market: conditionId,
    slug,
    description,
    assets_ids: tokens,
    outcomes: OUTCOMES,
    event_message: { id: condition.eventId, ticker: slug, slug, title: question, description },
    timestamp: String(at),
    event_type: 'new_market',
    tags: [],
    condition_id: conditionId,
    active: false,
    clob_token_ids: tokens,
    sports_market_type: '',
    line: '',
    game_start_time: '',
    order_price_min_tick_size: priceText(of.tick),
    group_item_title: '',
    taker_base_fee: '1000',
    fees_enabled: true,
    fee_schedule: { exponent: '1', rate: '0.07', taker_only: true, rebate_rate: '0.2' },
  }
}

/** The end of a market. */
export function toResolvedFrame(condition: Condition, winner: 0 | 1, at: number): object {
  return {
    id: condition.gammaId,
    market: condition.conditionId,
    assets_ids: condition.tokens,
    winning_asset_id: condition.tokens[winner],
    winning_outcome: OUTCOMES[winner],
    timestamp: String(at),
    event_type: 'market_resolved',
    tags: [],
  }
}

// At least three decimals (recorded: 0.510), the same text for both tokens, empty before a trade.
function lastTradeText(price: number | undefined): string {
  if (price === undefined) return ''
  const digits = `0.${String(price).padStart(4, '0')}`
  return digits.endsWith('0') ? digits.slice(0, -1) : digits
}
