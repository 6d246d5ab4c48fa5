import { parseFixed } from '../../bench/lib/naive-fold.ts'

/** An order of a comparison; prices in ten-thousandths of Yes or No, sizes in hundredths. */
export type TestOrder = {
  readonly at: number
  readonly ticker: string
  readonly isYes: boolean
  readonly isBuy: boolean
  readonly limit: number | undefined
  readonly size: number
}

/** A recorded message of venue B. */
export type RecordedEvent = {
  readonly type: string
  readonly msg: {
    readonly side?: string
    readonly price_dollars?: string
    readonly delta_fp?: string
    readonly yes_dollars_fp?: readonly (readonly [string, string])[]
    readonly no_dollars_fp?: readonly (readonly [string, string])[]
    readonly yes_price_dollars?: string
    readonly count_fp?: string
    readonly taker_side?: string
  }
}

/** The levels of one side: sizes in hundredths by price in ten-thousandths. */
export function toMap(levels: readonly (readonly [string, string])[] = []): Map<number, number> {
  return new Map(levels.map(([price, size]) => [parseFixed(price, 4), parseFixed(size, 2)]))
}

/** Fills an order from maps of levels by sorting, without code of the product, and notes what it took. */
// Buying Yes or selling No meets No bids, at the complement of their price.
export function take(
  order: TestOrder,
  yes: ReadonlyMap<number, number>,
  no: ReadonlyMap<number, number>,
  taken: Map<string, number>,
): string {
  const meetsNo = order.isYes === order.isBuy
  const levels = [...(meetsNo ? no : yes)].sort((left, right) => right[0] - left[0])
  const fills: string[] = []
  let left = order.size
  for (const [bid, size] of levels) {
    if (left === 0) break
    const isOwn = meetsNo !== order.isYes
    const price = isOwn ? bid : 10_000 - bid
    if (order.limit !== undefined) {
      if (order.isBuy ? price > order.limit : price < order.limit) break
    }
    const name = `${meetsNo ? 'no' : 'yes'} ${bid}`
    const available = size - (taken.get(name) ?? 0)
    const amount = Math.min(available, left)
    if (amount <= 0) continue
    left -= amount
    taken.set(name, (taken.get(name) ?? 0) + amount)
    fills.push(`${price}x${amount / 100}`)
  }
  return fills.join(' ')
}
