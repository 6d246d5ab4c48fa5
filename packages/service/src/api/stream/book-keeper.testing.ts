import type { AnyMessage } from './stream.testing.ts'

type Row = {
  readonly id: string
  readonly bids?: Ladder
  readonly asks?: Ladder
  readonly changes?: {
    readonly side: readonly ('bid' | 'ask')[]
    readonly price: readonly number[]
    readonly size: readonly number[]
  }
  readonly flags?: readonly string[]
}
type Ladder = { readonly price: readonly number[]; readonly size: readonly number[] }

/** The books of a client that checks each row: it must follow the one before, or a resync. */
export class BookKeeper {
  /** Sizes by side and price, best first when printed. */
  readonly books = new Map<string, Map<string, number>>()
  readonly sequences = new Map<string, number>()
  readonly trades = new Map<string, number>()
  /** All received sequences by instrument. */
  readonly seen = new Map<string, number[]>()
  readonly gaps: AnyMessage[] = []
  readonly resyncs: AnyMessage[] = []
  /** Rows that are missing without a resync. */
  readonly holes: string[] = []

  apply(message: AnyMessage): void {
    switch (message.type) {
      case 'snapshot':
      case 'update':
        this.applyRow(message as never)
        break
      case 'trade': {
        const { key, sequence, previous_sequence: previous } = message as unknown as Numbered
        const last = this.trades.get(key)
        if (previous !== null && last !== undefined && previous !== last) {
          this.holes.push(`${key}: trade ${sequence} says after ${previous}, not ${last}`)
        }
        this.trades.set(key, sequence)
        break
      }
      case 'gap':
        this.gaps.push(message)
        break
      case 'resync':
        this.resyncs.push(message)
        this.announced.add(message['key'])
        break
      default:
    }
  }

  /** A book as text. */
  textOf(key: string): string {
    return bookText(this.books.get(key) ?? new Map())
  }

  private readonly announced = new Set<string>()

  private applyRow(message: Numbered & { readonly type: string; readonly row: Row }): void {
    const { type, key, sequence, previous_sequence: previous, row } = message
    const last = this.sequences.get(key)
    if (type === 'update' && previous !== last) {
      this.holes.push(`${key}: ${sequence} says after ${previous}, not ${last}`)
    }
    const isStart = last === undefined || this.announced.delete(key)
    if (type === 'snapshot' && !isStart && previous !== last) {
      this.holes.push(`${key}: snapshot ${sequence} after ${last} without a word`)
    }
    this.sequences.set(key, sequence)
    this.seen.set(key, [...(this.seen.get(key) ?? []), sequence])
    if (row.changes === undefined) {
      this.books.set(key, toBook(row))
      return
    }
    const book =
      row.flags?.includes('restart') === true ? new Map() : (this.books.get(key) ?? new Map())
    for (const [index, side] of row.changes.side.entries()) {
      const level = `${side} ${row.changes.price[index]}`
      const size = row.changes.size[index]!
      if (size === 0) book.delete(level)
      else book.set(level, size)
    }
    this.books.set(key, book)
  }
}

type Numbered = {
  readonly key: string
  readonly sequence: number
  readonly previous_sequence: number | null
}

/** A whole book of a row. */
export function toBook(row: Row): Map<string, number> {
  const book = new Map<string, number>()
  for (const [side, ladder] of [
    ['bid', row.bids!],
    ['ask', row.asks!],
  ] as const) {
    for (const [index, price] of ladder.price.entries()) {
      book.set(`${side} ${price}`, ladder.size[index]!)
    }
  }
  return book
}

/** A book in one order. */
export function bookText(book: ReadonlyMap<string, number>): string {
  return [...book]
    .map(([level, size]) => `${level} ${size}`)
    .sort()
    .join('\n')
}
