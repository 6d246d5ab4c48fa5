import { printMicros, printScaled, VENUES, type Micros, type VenueId } from '../domain/index.ts'
import { printShownPrice } from './money.ts'
import type { OrderView } from './order.ts'

/** The best levels of a book at one moment: prices in ten-thousandths, sizes in units. */
export type BookGlance = {
  readonly bids: readonly (readonly [price: number, size: number])[]
  readonly asks: readonly (readonly [price: number, size: number])[]
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
