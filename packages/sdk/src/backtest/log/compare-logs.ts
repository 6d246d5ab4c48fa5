import type { FillView, OrderView } from '../order.ts'
import type { LogLine } from './run-log.ts'

/** A difference between a live run and its replay. */
export type LogDifference = {
  readonly kind:
    | 'order_missing'
    | 'order_extra'
    | 'order_time'
    | 'order_differs'
    | 'fill_missing'
    | 'fill_extra'
    | 'fill_price'
    | 'fill_size'
    | 'fill_fee'
    | 'fill_time'
    | 'fill_liquidity'
    | 'settlement_differs'
  /** The time of the event in the run that has it, in microseconds. */
  readonly at: number
  readonly market: string
  /** The id of the order in the live run, else in the replay. */
  readonly order: number | null
  readonly live: string | null
  readonly replay: string | null
}

type Known = { order: OrderView; readonly fills: FillView[] }

// Orders that were sent at other times are the same decision where they are this close, in microseconds.
const NEAR = 5_000_000

/** Compares what happened live with what a replay of the same time gives; in order of time. */
export function compareLogs(
  live: readonly LogLine[],
  replayed: readonly LogLine[],
): LogDifference[] {
  const differences: LogDifference[] = []
  const ours = ordersOf(live)
  const theirs = ordersOf(replayed)
  const pairs = pairOrders(ours, theirs)
  for (const one of ours) {
    const other = pairs.get(one)
    // The replay does not have it: it is too much in the live run.
    if (other === undefined) differences.push(aloneOf('order_extra', one, describeOrder(one), null))
    else differences.push(...compareOrder(one, other))
  }
  const paired = new Set(pairs.values())
  for (const other of theirs) {
    if (!paired.has(other)) {
      differences.push(aloneOf('order_missing', other, null, describeOrder(other)))
    }
  }
  differences.push(...compareSettlements(live, replayed))
  return differences.toSorted((left, right) => left.at - right.at)
}

function ordersOf(lines: readonly LogLine[]): Known[] {
  const known = new Map<number, Known>()
  for (const line of lines) {
    if (line.type === 'order') {
      const one = known.get(line.order.id)
      // The last state is the one that counts.
      if (one === undefined) known.set(line.order.id, { order: line.order, fills: [] })
      else one.order = line.order
    }
  }
  for (const line of lines)
    if (line.type === 'fill') known.get(line.fill.order)?.fills.push(line.fill)
  return [...known.values()]
}

function pairOrders(ours: readonly Known[], theirs: readonly Known[]): Map<Known, Known> {
  const pairs = new Map<Known, Known>()
  const free = new Set(theirs)
  const pair = (isSame: (one: OrderView, other: OrderView) => boolean): void => {
    for (const one of ours) {
      if (pairs.has(one)) continue
      for (const other of free) {
        if (!isSame(one.order, other.order)) continue
        pairs.set(one, other)
        free.delete(other)
        break
      }
    }
  }
  const isAlike = (one: OrderView, other: OrderView): boolean =>
    one.market === other.market && one.outcome === other.outcome && one.side === other.side
  pair((one, other) => isAlike(one, other) && one.sentAt === other.sentAt)
  pair(
    (one, other) =>
      isAlike(one, other) &&
      one.price === other.price &&
      one.size === other.size &&
      Math.abs(one.sentAt - other.sentAt) <= NEAR,
  )
  return pairs
}

function compareOrder(one: Known, other: Known): LogDifference[] {
  const { order } = one
  const place = { at: order.sentAt, market: order.market, order: order.id }
  const differences: LogDifference[] = []
  const differ = (kind: LogDifference['kind'], live: unknown, replay: unknown): void => {
    if (String(live) !== String(replay)) {
      differences.push({ ...place, kind, live: String(live), replay: String(replay) })
    }
  }
  differ('order_time', order.sentAt, other.order.sentAt)
  const facts = ({ order: { price, size, filled, state, reason } }: Known): string =>
    JSON.stringify({ price, size, filled, state, reason })
  differ('order_differs', facts(one), facts(other))
  const most = Math.max(one.fills.length, other.fills.length)
  for (let index = 0; index < most; index++) {
    const [mine, its] = [one.fills[index], other.fills[index]]
    if (mine === undefined) {
      differences.push({ ...place, kind: 'fill_missing', live: null, replay: describeFill(its!) })
    } else if (its === undefined) {
      differences.push({ ...place, kind: 'fill_extra', live: describeFill(mine), replay: null })
    } else {
      differ('fill_price', mine.price, its.price)
      differ('fill_size', mine.size, its.size)
      differ('fill_fee', mine.fee, its.fee)
      differ('fill_time', mine.at, its.at)
      differ('fill_liquidity', mine.liquidity, its.liquidity)
    }
  }
  return differences
}

function compareSettlements(
  live: readonly LogLine[],
  replayed: readonly LogLine[],
): LogDifference[] {
  const settled = (lines: readonly LogLine[]) =>
    new Map(
      lines.flatMap((line) =>
        line.type === 'settlement' ? [[line.settlement.market, line.settlement] as const] : [],
      ),
    )
  const [ours, theirs] = [settled(live), settled(replayed)]
  return [...new Set([...ours.keys(), ...theirs.keys()])].flatMap((market) => {
    const [one, other] = [ours.get(market), theirs.get(market)]
    const texts = [one, other].map((each) => (each === undefined ? null : JSON.stringify(each)))
    if (texts[0] === texts[1]) return []
    const { time: at } = (one ?? other)!
    const sides = { live: texts[0]!, replay: texts[1]! }
    return [{ kind: 'settlement_differs', at, market, order: null, ...sides } as const]
  })
}

function aloneOf(
  kind: 'order_extra' | 'order_missing',
  { order }: Known,
  live: string | null,
  replay: string | null,
): LogDifference {
  return { kind, at: order.sentAt, market: order.market, order: order.id, live, replay }
}

function describeOrder({ order, fills }: Known): string {
  const { side, size, price, state } = order
  return `${side} ${size} at ${price ?? 'market'}: ${state}, ${fills.length} fills`
}

function describeFill({ side, size, price, at }: FillView): string {
  return `${side} ${size} at ${price}, ${at}`
}
