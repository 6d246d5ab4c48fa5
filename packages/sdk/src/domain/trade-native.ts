/** What a trade's message can say in the venue's own words, by its own field names. */
export const TRADE_NATIVE_FIELDS = {
  taker_side: 'The venue’s own word for the side of the taker.',
  taker_outcome_side: 'Venue B: the outcome that the taker bought.',
  taker_book_side: 'Venue B: the side of the book that the taker’s order was for.',
  is_block_trade: 'Venue B: true for a trade that was agreed outside of the book.',
  yes_price_dollars: 'Venue B: the price of yes.',
  no_price_dollars: 'Venue B: the price of no.',
  count_fp: 'Venue B: the number of contracts.',
  yes_price: 'Venue B, old messages: the price of yes in cents.',
  no_price: 'Venue B, old messages: the price of no in cents.',
  count: 'Venue B, old messages: the number of contracts.',
  side: 'Venue C: the side of the trade.',
  price: 'Venue C: the price.',
  size: 'Venue C: the size.',
  fee_rate_bps: 'Venue C: the fee rate in basis points.',
  transaction_hash: 'Venue C: the transaction that settled the trade.',
  origin: 'Venue A: chain, because the trade was read from an event of the exchange contract.',
  orderHash: 'Venue A: the resting order that was filled.',
  maker: 'Venue A: the owner of the resting order.',
  taker: 'Venue A: the other side.',
  makerAssetId: 'Venue A: what the owner of the resting order gave; 0 is the collateral.',
  takerAssetId: 'Venue A: what the owner of the resting order got; 0 is the collateral.',
  makerAmountFilled: 'Venue A: how much the owner gave, in the smallest unit.',
  takerAmountFilled: 'Venue A: how much the owner got, in the smallest unit.',
  fee: 'Venue A: the fee of the resting order, in the smallest unit.',
} as const

/** The name of one such field. */
export type TradeNativeField = keyof typeof TRADE_NATIVE_FIELDS

/** What one trade's message said, unchanged; a field that it did not have is absent. */
export type TradeNative = {
  readonly [Field in TradeNativeField]?: string | number | boolean
}

// Longer than any word, price or hash of a venue.
const MAX_CHARS = 200

/** The named fields of a message as it said them; undefined where it has none of them. */
export function readTradeNative(
  message: { readonly [name: string]: unknown },
  fields: readonly TradeNativeField[],
): TradeNative | undefined {
  const said: { [Field in TradeNativeField]?: string | number | boolean } = {}
  let isEmpty = true
  for (const field of fields) {
    const value = message[field]
    const isSaid =
      typeof value === 'boolean' ||
      (typeof value === 'number' && Number.isFinite(value)) ||
      (typeof value === 'string' && value.length <= MAX_CHARS)
    if (!isSaid) continue
    said[field] = value
    isEmpty = false
  }
  return isEmpty ? undefined : said
}
