import { fromMillis, toLevel, toLevels, type BookUpdate } from '../book-update.ts'

type Fields = Readonly<Record<string, unknown>>

/** The books and changes that a message of venue C carries; undefined for other messages. */
export function readVenueC(message: Fields): BookUpdate[] | undefined {
  const { event_type: type, asset_id: asset } = message
  const marketId = String(message['market'])
  const time = fromMillis(message['timestamp'])
  const shared = { venue: 'venuec', marketId, time } as const
  if (type === 'book') {
    const bids = toLevels(message['bids'] ?? message['buys'])
    const asks = toLevels(message['asks'] ?? message['sells'])
    return [{ kind: 'full', ...shared, key: String(asset), bids, asks }]
  }
  if (type !== 'price_change') return undefined
  const list = (message['price_changes'] ?? message['changes'] ?? [message]) as readonly Fields[]
  const byKey = new Map<string, Fields[]>()
  for (const change of list) {
    const key = String(change['asset_id'] ?? asset)
    byKey.set(key, [...(byKey.get(key) ?? []), change])
  }
  return [...byKey].map(([key, changes]) => ({
    kind: 'change',
    ...shared,
    key,
    isSigned: false,
    changes: changes.map(({ price, size, side }) => ({
      ...toLevel(price, size),
      side: side === 'BUY' ? 'bid' : 'ask',
    })),
  }))
}
