import { FLAGS, POW10, toMicros, VENUES, type Gap } from '../domain/index.ts'
import type { BookEvent, ReplayEvent, ReplayInstrument, TradeEvent } from '../replay/index.ts'
import type { LevelStep, Step } from './step.ts'

// The instant of an observation is not in the gap that starts with it: its book is forgotten a microsecond later.
const AFTER_START = 1

/** Turns the events of a replay into the steps that other tools are told. */
export class Steps {
  private readonly books: Map<number, KnownBook>

  constructor() {
    this.books = new Map()
  }

  /** The steps of one event; none for events that are no part of books and trades. */
  *stepsOf(event: ReplayEvent, instruments: readonly ReplayInstrument[]): Generator<Step> {
    switch (event.kind) {
      case 'book': {
        const step = this.bookOf(event.instrument).take(event)
        if (step !== undefined) yield step
        break
      }
      case 'trade':
        yield tradeStep(event)
        break
      case 'gap':
        if (event.edge === 'close') break
        for (const instrument of instruments) {
          if (!concerns(event.gap, instrument)) continue
          const levels = this.bookOf(instrument).forget()
          if (levels === undefined) continue
          yield { kind: 'clear', at: toMicros(event.at + AFTER_START), instrument, levels }
        }
        break
      case 'sample':
      case 'reference':
      case 'market':
        break
    }
  }

  private bookOf(instrument: ReplayInstrument): KnownBook {
    let book = this.books.get(instrument.index)
    if (book === undefined) this.books.set(instrument.index, (book = new KnownBook(instrument)))
    return book
  }
}

/** True where a gap leaves the book of an instrument unknown. */
function concerns(gap: Gap, instrument: ReplayInstrument): boolean {
  if (gap.venue !== instrument.venue) return false
  switch (gap.scope) {
    case 'instrument':
      return gap.key === instrument.key
    case 'market':
      return gap.key === instrument.marketId
    case 'venue':
      return gap.key === ''
  }
}

function tradeStep({ at, source, instrument, tradeId, price, size, taker }: TradeEvent): Step {
  return { kind: 'trade', at, source, instrument, tradeId, price, size, taker }
}

/** The levels of one book as they were told so far, by twice the price plus 1 for asks. */
class KnownBook {
  private readonly instrument: ReplayInstrument
  /** Undefined while the book is unknown. */
  private levels: Map<number, number> | undefined

  constructor(instrument: ReplayInstrument) {
    this.instrument = instrument
  }

  /** The step of a row; undefined where the row changed nothing. */
  take(event: BookEvent): Step | undefined {
    const { at, source, instrument, sequence } = event
    const isWhole = this.levels === undefined
    const changes = isWhole ? this.learn(event) : this.change(event)
    if (changes.length === 0 && !isWhole) return undefined
    return { kind: 'book', at, source, instrument, sequence, isWhole, changes }
  }

  /** Ends the knowledge of the book; undefined where it was unknown before. */
  forget(): readonly LevelStep[] | undefined {
    const { levels } = this
    if (levels === undefined) return undefined
    this.levels = undefined
    return [...levels.keys()].sort(bestFirst).map((key) => levelStep(key, 0, false))
  }

  private learn(event: BookEvent): LevelStep[] {
    this.levels = this.wholeOf(event)
    return [...this.levels].map(([key, size]) => levelStep(key, size, true))
  }

  private wholeOf({ ladder }: BookEvent): Map<number, number> {
    const factor = POW10[VENUES[this.instrument.venue].priceDecimals - ladder.decimals]!
    const levels = new Map<number, number>()
    for (const [side, isAsk] of [
      [ladder.bids(Infinity), 0],
      [ladder.asks(Infinity), 1],
    ] as const) {
      for (const [index, price] of side.price.entries()) {
        levels.set(price * factor * 2 + isAsk, side.size[index]!)
      }
    }
    return levels
  }

  private change(event: BookEvent): LevelStep[] {
    const levels = this.levels!
    const { columns, row } = event
    const changes: LevelStep[] = []
    const put = (key: number, size: number): void => {
      const before = levels.get(key) ?? 0
      if (before === size) return
      if (size === 0) levels.delete(key)
      else levels.set(key, size)
      changes.push(levelStep(key, size, before === 0))
    }
    // A whole book in the middle of a known one is told by its differences.
    if ((columns.flags[row]! & FLAGS.restart) !== 0) {
      const now = this.wholeOf(event)
      for (const key of levels.keys()) if (!now.has(key)) put(key, 0)
      for (const [key, size] of now) put(key, size)
      return changes
    }
    const factor = POW10[VENUES[this.instrument.venue].priceDecimals - columns.priceDecimals]!
    const end = columns.changeEnd[row]!
    for (let index = columns.changeStart(row); index < end; index++) {
      const key = columns.key[index]!
      put((key >>> 1) * factor * 2 + (key & 1), columns.size[index]!)
    }
    return changes
  }
}

function levelStep(key: number, size: number, isNew: boolean): LevelStep {
  const isAsk = key % 2 === 1
  return { side: isAsk ? 'ask' : 'bid', price: Math.floor(key / 2), size, isNew }
}

// Bids from the highest price on, then asks from the lowest.
function bestFirst(left: number, right: number): number {
  const sides = (left % 2) - (right % 2)
  if (sides !== 0) return sides
  return left % 2 === 1 ? left - right : right - left
}
