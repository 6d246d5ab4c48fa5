import {
  fromMillis,
  ONE,
  toLevel,
  toLevels,
  type BookUpdate,
  type OwnLevel,
} from '../book-update.ts'

type Fields = Readonly<Record<string, unknown>>

/** The book, or the change of one, that a message of venue B carries; undefined for other messages. */
export function readVenueB(message: Fields): BookUpdate[] | undefined {
  const { type } = message
  if (type !== 'orderbook_snapshot' && type !== 'orderbook_delta') return undefined
  const body = message['msg'] as Fields
  const key = String(body['market_ticker'])
  const shared = { venue: 'venueb', marketId: key, key } as const
  if (type === 'orderbook_snapshot') {
    const asks = sideOf(body, 'no').map(complement)
    return [{ kind: 'full', ...shared, bids: sideOf(body, 'yes'), asks }]
  }
  const isCents = body['price_dollars'] === undefined
  const price = isCents ? cents(body['price']) : body['price_dollars']
  const level = toLevel(price, body['delta_fp'] ?? body['delta'])
  const isYes = body['side'] === 'yes'
  const change = { ...(isYes ? level : complement(level)), side: isYes ? 'bid' : 'ask' } as const
  const time = fromMillis(body['ts_ms'])
  return [{ kind: 'change', ...shared, time, changes: [change], isSigned: true }]
}

// Both sides are bids: one for No at p is an ask for Yes at 1 − p.
function complement({ price, size }: OwnLevel): OwnLevel {
  return { price: ONE - price, size }
}

function sideOf(body: Fields, side: 'yes' | 'no'): OwnLevel[] {
  const dollars = body[`${side}_dollars_fp`] ?? body[`${side}_dollars`]
  if (dollars !== undefined || !Array.isArray(body[side])) return toLevels(dollars)
  return (body[side] as readonly (readonly unknown[])[]).map(([price, size]) =>
    toLevel(cents(price), size),
  )
}

// Messages of before 2026 have whole cents.
function cents(value: unknown): number {
  return Number(value) / 100
}
