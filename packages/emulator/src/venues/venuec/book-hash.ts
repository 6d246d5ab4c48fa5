import { hash } from 'node:crypto'

/** One level as the venue writes it. */
export type WireLevel = { readonly price: string; readonly size: string }

/** A book as REST gives it; the hash depends on the order of these fields. */
export type BookSummary = {
  readonly market: string
  readonly asset_id: string
  readonly timestamp: string
  readonly hash: string
  readonly bids: readonly WireLevel[]
  readonly asks: readonly WireLevel[]
  readonly min_order_size: string
  readonly tick_size: string
  readonly neg_risk: boolean
  readonly last_trade_price: string
}

/**
 * The hash of a book as the official Python client computes it (py-clob-client 0.34,
 * `generate_orderbook_summary_hash`): SHA-1 of the compact JSON with an empty hash in it.
 */
export function summaryHash(summary: BookSummary): string {
  return hash('sha1', JSON.stringify({ ...summary, hash: '' }))
}
