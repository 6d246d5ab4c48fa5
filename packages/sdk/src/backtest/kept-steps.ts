import type { MatchBook } from './fills.ts'
import { known, NumberRows, WordTable } from './kept-rows.ts'
import { shownPrice } from './money.ts'
import { printRow, type RowRef } from './row-ref.ts'
import type { BookGlance, WhyStep } from './why.ts'

// Max steps that are kept of one order.
const MAX_STEPS = 100
// Levels per side in a book glance.
const GLANCE_DEPTH = 5

/** One thing that happens to an order; `before` and `after` are glances by their number. */
export type StepFacts = {
  readonly rule: string
  readonly before?: number | undefined
  readonly after?: number | undefined
  readonly ahead?: number | undefined
  readonly size?: number | undefined
  readonly price?: number | undefined
  readonly row?: RowRef | undefined
  readonly other?: RowRef | undefined
}

/** What happened to the first orders of a run: rows, of which steps are made on reading. */
export class KeptSteps {
  /** The last step of each order by its id; every step names the one before it. */
  private readonly last: (number | undefined)[] = []
  private readonly rows = new NumberRows(13)
  /** The numbers of bids and asks, then price and size of every bid and every ask. */
  private readonly glances = new NumberRows(2 + 4 * GLANCE_DEPTH)
  private readonly rules = new WordTable<string>()
  private readonly names = new WordTable<string>()

  /** Adds a step of an order. */
  add(order: number, at: number, facts: StepFacts): void {
    const { rows, rules, names } = this
    const previous = this.last[order] ?? -1
    const count = previous < 0 ? 0 : rows.values[rows.first(previous) + 1]!
    if (count > MAX_STEPS) return
    this.last[order] = rows.count
    const { row, other } = facts
    const first = rows.add()
    const { values } = rows
    values[first] = previous
    values[first + 1] = count + 1
    values[first + 2] = at
    values[first + 3] = rules.numberOf(facts.rule)
    values[first + 4] = facts.before ?? NaN
    values[first + 5] = facts.after ?? NaN
    values[first + 6] = facts.ahead ?? NaN
    values[first + 7] = facts.size ?? NaN
    values[first + 8] = facts.price ?? NaN
    values[first + 9] = names.numberOf(row?.series)
    values[first + 10] = row?.sequence ?? NaN
    values[first + 11] = names.numberOf(other?.series)
    values[first + 12] = other?.sequence ?? NaN
  }

  /** Keeps the best levels of an outcome, less what the run has consumed of them; returns the number of the glance. */
  glance(book: MatchBook, consumed: ReadonlyMap<number, number>, outcome: number): number {
    const { glances } = this
    const isSame = outcome === book.outcome
    const first = glances.add()
    const { values } = glances
    const bids = packSide(values, first + 2, book, consumed, isSame, isSame ? 0 : 1)
    const asks = packSide(values, first + 2 + 2 * bids, book, consumed, isSame, isSame ? 1 : 0)
    values[first] = bids
    values[first + 1] = asks
    return glances.count - 1
  }

  /** The steps of an order, oldest first. */
  of(order: number): readonly WhyStep[] {
    return Object.freeze(this.placesOf(order).map((first) => this.step(first)))
  }

  /** The times of an order's steps at which its place in the queue was noted, and the units ahead. */
  queueOf(order: number): { readonly at: number; readonly ahead: number }[] {
    const { values } = this.rows
    return this.placesOf(order)
      .map((first) => ({ at: values[first + 2]!, ahead: values[first + 6]! }))
      .filter(({ ahead }) => !Number.isNaN(ahead))
  }

  private placesOf(order: number): number[] {
    const { rows } = this
    const places: number[] = []
    for (let row = this.last[order] ?? -1; row >= 0; row = rows.values[places.at(-1)!]!) {
      places.push(rows.first(row))
    }
    return places.reverse()
  }

  private step(first: number): WhyStep {
    const { values } = this.rows
    const before = known(values[first + 4]!)
    const after = known(values[first + 5]!)
    const ahead = known(values[first + 6]!)
    const size = known(values[first + 7]!)
    const price = known(values[first + 8]!)
    const rows = [...this.rowAt(first + 9), ...this.rowAt(first + 11)]
    return {
      at: values[first + 2]!,
      rule: this.rules.wordOf(values[first + 3]!)!,
      ...(ahead === undefined ? {} : { ahead }),
      ...(size === undefined ? {} : { size }),
      ...(price === undefined ? {} : { price }),
      ...(rows.length === 0 ? {} : { rows }),
      ...(before === undefined ? {} : { before: this.unpack(before) }),
      ...(after === undefined ? {} : { after: this.unpack(after) }),
    }
  }

  private rowAt(first: number): string[] {
    const { values } = this.rows
    const series = this.names.wordOf(values[first]!)
    return series === undefined ? [] : [printRow({ series, sequence: values[first + 1]! })]
  }

  private unpack(glance: number): BookGlance {
    const { values } = this.glances
    const first = this.glances.first(glance)
    const bids = values[first]!
    const levels = Array.from({ length: bids + values[first + 1]! }, (_, level) => {
      const at = first + 2 + 2 * level
      return [values[at]!, values[at + 1]!] as const
    })
    return { bids: levels.slice(0, bids), asks: levels.slice(bids) }
  }
}

function packSide(
  packed: Float64Array,
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
