import { fromMillis, toLevels, type BookUpdate } from '../book-update.ts'

// The market follows in the topic; `data` stands for all markets.
const TOPICS = /^(?:web3_prediction_orderbook_|predictOrderbook\/)/

/** The book that a frame of venue A carries; undefined for other frames. */
export function readVenueA(message: Readonly<Record<string, unknown>>): BookUpdate[] | undefined {
  const { topic, data } = message
  if (typeof topic !== 'string' || !TOPICS.test(topic)) return undefined
  const inner: unknown = typeof data === 'string' ? JSON.parse(data) : data
  const book = inner as Readonly<Record<string, unknown>> & { readonly marketId?: string | number }
  const marketId = String(book.marketId ?? topic.replace(TOPICS, ''))
  const time = fromMillis(book['updateTimestampMs'])
  const bids = toLevels(book['bids'])
  const asks = toLevels(book['asks'])
  return [{ kind: 'full', venue: 'venuea', marketId, key: marketId, time, bids, asks }]
}
