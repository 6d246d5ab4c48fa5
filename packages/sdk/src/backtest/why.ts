import { printMicros, printScaled, VENUES, type Micros, type VenueId } from '../domain/index.ts'
import type { MatchBook } from './fills.ts'
import { printShownPrice, shownPrice } from './money.ts'
import type { OrderView } from './order.ts'

/** The best levels of a book at one moment: prices in ten-thousandths, sizes in units. */
export type BookGlance = {
  readonly bids: readonly (readonly [price: number, size: number])[]
  readonly asks: readonly (readonly [price: number, size: number])[]
}

// Levels per side in a book glance.
const GLANCE_DEPTH = 5

/**
 * A glance as one list: the number of bids, then price and size of every bid and every ask. Thousands of orders
 * keep two glances each, and one small array costs a tenth of what nested ones do.
 */
export type PackedGlance = readonly number[]

/** The best levels of an outcome, less what the run has consumed of them. */
export function glanceAt(
  book: MatchBook,
  consumed: ReadonlyMap<number, number>,
  outcome: number,
): PackedGlance {
  const isSame = outcome === book.outcome
  // Of full length at once and cut at the end: an array that grows is copied, and keeps the room that it has left.
  const packed = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
  const bids = packSide(packed, 1, book, consumed, isSame, isSame ? 0 : 1)
  packed[0] = bids
  const asks = packSide(packed, 1 + 2 * bids, book, consumed, isSame, isSame ? 1 : 0)
  packed.length = 1 + 2 * (bids + asks)
  return packed
}

function packSide(
  packed: number[],
  from: number,
  { ladder, factor }: MatchBook,
  consumed: ReadonlyMap<number, number>,
  isSame: boolean,
  side: 0 | 1,
): number {
  const end = side === 0 ? 0 : ladder.one
  let tick = side === 0 ? ladder.bestBid : ladder.bestAsk
  let count = 0
  for (; tick !== end && count < GLANCE_DEPTH; count++) {
    const used = consumed.size === 0 ? 0 : (consumed.get(tick * factor * 2 + side) ?? 0)
    packed[from + count * 2] = shownPrice(isSame ? tick : ladder.one - tick, ladder.one)
    packed[from + count * 2 + 1] = ladder.sizeAt(tick * 2 + side) - used
    tick = side === 0 ? ladder.nextBid(tick) : ladder.nextAsk(tick)
  }
  return count
}

function unpackGlance(packed: PackedGlance): BookGlance {
  const levels: [number, number][] = []
  for (let at = 1; at < packed.length; at += 2) levels.push([packed[at]!, packed[at + 1]!])
  return { bids: levels.slice(0, packed[0]), asks: levels.slice(packed[0]) }
}

/** A step as it is kept. */
export type KeptStep = Omit<WhyStep, 'before' | 'after'> & {
  readonly before?: PackedGlance
  readonly after?: PackedGlance
}

/** A kept step as it is shown. */
export function toWhyStep({ before, after, ...step }: KeptStep): WhyStep {
  return {
    ...step,
    ...(before === undefined ? {} : { before: unpackGlance(before) }),
    ...(after === undefined ? {} : { after: unpackGlance(after) }),
  }
}

/** One thing that happened to an order, and by which rule. */
export type WhyStep = {
  readonly at: number
  readonly rule: string
  /** The book of the order's outcome. */
  readonly before?: BookGlance
  readonly after?: BookGlance
  /** Units ahead of the order in the queue. */
  readonly ahead?: number
  readonly size?: number
  readonly price?: number
  readonly rows?: readonly string[]
}

/** An order with everything that happened to it. */
export type Why = { readonly order: OrderView; readonly steps: readonly WhyStep[] }

/** Prints an order and its steps as plain lines. */
export function printWhy({ order, steps }: Why): string {
  const { venue } = order
  const size = (units: number): string => printScaled(units, VENUES[venue].sizeDecimals)
  const lines = [
    `order ${order.id}: ${order.side} ${order.size} of outcome ${order.outcome} of ${order.market}` +
      (order.price === undefined ? ' at the market' : ` at ${printShownPrice(order.price)}`) +
      `, ${order.timeInForce}`,
    `  ${order.state}${order.reason === undefined ? '' : ` (${order.reason})`}, filled ${order.filled}`,
  ]
  for (const step of steps) {
    const parts = [`  ${printMicros(step.at as Micros)}  ${step.rule}`]
    if (step.size !== undefined) parts.push(`size ${size(step.size)}`)
    if (step.price !== undefined) parts.push(`price ${printShownPrice(step.price)}`)
    if (step.ahead !== undefined) parts.push(`queue ahead ${size(step.ahead)}`)
    if (step.rows !== undefined) parts.push(`rows ${step.rows.join(', ')}`)
    lines.push(parts.join(', '))
    if (step.before !== undefined) lines.push(`    book before ${printGlance(step.before, venue)}`)
    if (step.after !== undefined) lines.push(`    book after  ${printGlance(step.after, venue)}`)
  }
  return lines.join('\n')
}

function printGlance({ bids, asks }: BookGlance, venue: VenueId): string {
  const side = (levels: BookGlance['bids']): string =>
    levels
      .map(
        ([price, size]) =>
          `${printShownPrice(price)}×${printScaled(size, VENUES[venue].sizeDecimals)}`,
      )
      .join(' ') || 'none'
  return `bids ${side(bids)} | asks ${side(asks)}`
}
