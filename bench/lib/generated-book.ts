import type { Random } from './random.ts'

/** The side of a resting order; both sides are bids, as on the venue. */
type GeneratedSide = 'yes' | 'no'

/** One line that an action of the invented market causes; sizes are 1e-2 contracts. */
export type BookChange =
  | {
      readonly kind: 'delta'
      readonly side: GeneratedSide
      readonly cents: number
      /** Signed change of the level. */
      readonly size: number
      /** False for the later changes of one action, which share its source time. */
      readonly isFirst: boolean
    }
  | {
      readonly kind: 'trade'
      readonly side: GeneratedSide
      readonly cents: number
      readonly size: number
    }

/** A book of invented resting orders that never crosses. */
export interface GeneratedBook {
  /** Lets one participant act; gives the changes in the order the venue would send them. */
  step(): readonly BookChange[]
  /** The levels of one side, cents and size, ascending as the venue sends them. */
  levels(side: GeneratedSide): (readonly [cents: number, size: number])[]
}

/** Builds a book with about `target` price levels around a fair price that wanders. */
export function createGeneratedBook(
  random: Random,
  target: number,
  fractional: number,
): GeneratedBook {
  const totals = { yes: new Int32Array(100), no: new Int32Array(100) }
  const orders: Order[] = []
  let fair = 50
  let changes: BookChange[] = []

  // Large orders stand on about three of four levels and are seldom touched.
  for (const side of ['yes', 'no'] as const) {
    const ladder = Array.from({ length: 45 }, (_, index) => index + 1)
    for (let level = 0; level < target / 2 - 3; level++) {
      const cents = ladder.splice(random.integer(0, ladder.length - 1), 1)[0]
      if (cents === undefined) break
      const size = random.pick([5000, 10000, 27500, 100000, 100600, 110000, 123973])
      orders.push({ side, cents, size, stands: true })
      totals[side][cents]! += size
    }
  }
  const standing = orders.length
  const active = Math.round(target * 0.9)
  while (orders.length < standing + active) place(true)

  return {
    step() {
      changes = []
      fair = Math.min(90, Math.max(10, fair + (random.float() - 0.5) * 0.35))
      act()
      return changes
    },
    levels: (side) =>
      Array.from(totals[side], (size, cents) => [cents, size] as const).filter(
        ([, size]) => size > 0,
      ),
  }

  function act(): void {
    const roll = random.float()
    if (roll < 0.012) take()
    else if (roll < 0.4) move()
    // The number of active orders is held near its target by adding when there are few.
    else if (random.chance(orders.length < standing + active ? 0.62 : 0.38)) place(true)
    else withdraw(pickOrder(), true)
  }

  /** Quote move: the size leaves one price and appears at another. */
  function move(): void {
    const order = pickOrder()
    withdraw(order, true)
    add(order.side, priceFor(order.side), order.size, false)
  }

  function place(isFirst: boolean): void {
    const side = random.chance(0.5) ? 'yes' : 'no'
    add(side, priceFor(side), drawSize(), isFirst)
  }

  function add(side: GeneratedSide, wanted: number, size: number, isFirst: boolean): void {
    const cents = Math.min(wanted, 99 - best(side === 'yes' ? 'no' : 'yes'))
    if (cents < 1) return
    orders.push({ side, cents, size, stands: false })
    change(side, cents, size, isFirst)
  }

  function withdraw(order: Order, isFirst: boolean): void {
    orders.splice(orders.indexOf(order), 1)
    change(order.side, order.cents, -order.size, isFirst)
  }

  /** A taker meets the best level; what is left of the last order stays as a fractional size. */
  function take(): void {
    const side = random.chance(0.5) ? 'yes' : 'no'
    const cents = best(side)
    let left = Math.round(random.exponential(4000)) + 1
    let isFirst = true
    for (const order of orders.filter((each) => each.side === side && each.cents === cents)) {
      if (left <= 0) break
      const size = Math.min(left, order.size)
      left -= size
      if (size === order.size) orders.splice(orders.indexOf(order), 1)
      else order.size -= size
      changes.push({ kind: 'trade', side, cents, size })
      change(side, cents, -size, isFirst)
      isFirst = false
    }
  }

  function change(side: GeneratedSide, cents: number, size: number, isFirst: boolean): void {
    totals[side][cents]! += size
    changes.push({ kind: 'delta', side, cents, size, isFirst })
  }

  /** Orders priced through the fair value go first, then those added last. */
  function pickOrder(): Order {
    let chosen = drawOrder()
    for (let round = 0; round < 2; round++) {
      const other = drawOrder()
      if (excess(other) > Math.max(0, excess(chosen)) || chosen.stands) chosen = other
    }
    return chosen
  }

  function drawOrder(): Order {
    const back = Math.min(orders.length - 1, Math.floor(random.exponential(active * 0.6)))
    return orders[orders.length - 1 - back]!
  }

  function excess(order: Order): number {
    return order.cents - (order.side === 'yes' ? fair : 100 - fair)
  }

  /** Most orders lie a few cents behind the touch, some anywhere below it. */
  function priceFor(side: GeneratedSide): number {
    const touch = Math.floor(side === 'yes' ? fair - 1 : 99 - fair)
    const depth = random.chance(0.9) ? random.exponential(4.5) : random.float() * touch
    return Math.max(1, touch - Math.floor(depth))
  }

  function drawSize(): number {
    if (random.chance(fractional)) {
      return random.chance(0.6) ? 10 : random.integer(1, 20000)
    }
    const usual = [10, 10, 10, 100, 100, 25, 25, 30, 31, 32, 33, 29, 40, 5, 15, 50, 200, 2000]
    return 100 * (random.chance(0.85) ? random.pick(usual) : random.integer(1, 120))
  }

  function best(side: GeneratedSide): number {
    let cents = 99
    while (cents > 0 && totals[side][cents] === 0) cents -= 1
    return cents
  }
}

type Order = {
  readonly side: GeneratedSide
  readonly cents: number
  size: number
  /** One of the large orders the book started with. */
  readonly stands: boolean
}
