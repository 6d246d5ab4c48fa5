import { printScaled, VENUES } from '../domain/index.ts'
import { NumberRows, WordTable } from './kept-rows.ts'
import type { MarketState } from './market-state.ts'
import { printMoney, shownPrice } from './money.ts'
import { EVIDENCE_CLASSES, type Evidence, type FillView } from './order.ts'
import { printRow, type RowRef } from './row-ref.ts'

/** What a view shows of a fill. */
export type FillRecord = {
  readonly id: number
  readonly order: number
  readonly market: MarketState
  readonly outcome: number
  readonly side: 'buy' | 'sell'
  readonly liquidity: 'taker' | 'maker'
  /** In ticks of the venue. */
  readonly price: number
  readonly size: number
  /** Money units, and units that were not delivered. */
  readonly fee: number
  readonly feeShares: number
  readonly at: number
  readonly evidence: Evidence
  readonly bookAge: number
  readonly row: RowRef
  readonly other: RowRef | undefined
  readonly tag: string | undefined
}

/** The first fills of a run, for the report: rows, of which views are made on reading. */
export class KeptFills {
  private readonly limit: number
  private readonly rows = new NumberRows(16)
  private readonly markets: MarketState[] = []
  private readonly names = new WordTable<string>()
  private readonly tags = new Map<number, string>()

  constructor(limit: number) {
    this.limit = limit
  }

  /** How many fills are kept. */
  get count(): number {
    return this.rows.count
  }

  /** Keeps a fill, if it is among the first ones; ids count from 1. */
  add(fill: FillRecord): void {
    const { rows, names } = this
    if (rows.count === this.limit) return
    const { market, other } = fill
    const first = rows.add()
    const { values } = rows
    values[first] = fill.order
    values[first + 1] = market.index
    values[first + 2] = fill.outcome
    values[first + 3] = fill.side === 'buy' ? 0 : 1
    values[first + 4] = fill.liquidity === 'taker' ? 0 : 1
    values[first + 5] = fill.price
    values[first + 6] = fill.size
    values[first + 7] = fill.fee
    values[first + 8] = fill.feeShares
    values[first + 9] = fill.at
    values[first + 10] = EVIDENCE_CLASSES.indexOf(fill.evidence)
    values[first + 11] = fill.bookAge
    values[first + 12] = names.numberOf(fill.row.series)
    values[first + 13] = fill.row.sequence
    values[first + 14] = names.numberOf(other?.series)
    values[first + 15] = other?.sequence ?? NaN
    this.markets[market.index] = market
    if (fill.tag !== undefined) this.tags.set(fill.id, fill.tag)
  }

  /** All kept fills, in their order. */
  views(): FillView[] {
    return Array.from({ length: this.rows.count }, (_, index) => this.view(index))
  }

  private view(index: number): FillView {
    const { rows, names } = this
    const { values } = rows
    const first = rows.first(index)
    const other = names.wordOf(values[first + 14]!)
    return toFillView({
      id: index + 1,
      order: values[first]!,
      market: this.markets[values[first + 1]!]!,
      outcome: values[first + 2]!,
      side: values[first + 3] === 0 ? 'buy' : 'sell',
      liquidity: values[first + 4] === 0 ? 'taker' : 'maker',
      price: values[first + 5]!,
      size: values[first + 6]!,
      fee: values[first + 7]!,
      feeShares: values[first + 8]!,
      at: values[first + 9]!,
      evidence: EVIDENCE_CLASSES[values[first + 10]!]!,
      bookAge: values[first + 11]!,
      row: { series: names.wordOf(values[first + 12]!)!, sequence: values[first + 13]! },
      other: other === undefined ? undefined : { series: other, sequence: values[first + 15]! },
      tag: this.tags.get(index + 1),
    })
  }
}

/** Makes the frozen view of a fill. */
export function toFillView(fill: FillRecord): FillView {
  const { market, row, other } = fill
  const decimals = VENUES[market.venue].sizeDecimals
  return Object.freeze({
    id: fill.id,
    order: fill.order,
    market: market.name,
    venue: market.venue,
    outcome: fill.outcome,
    side: fill.side,
    liquidity: fill.liquidity,
    price: shownPrice(fill.price, market.one),
    size: printScaled(fill.size, decimals),
    fee: printMoney(fill.fee),
    feeShares: printScaled(fill.feeShares, decimals),
    at: fill.at,
    evidence: fill.evidence,
    rows: Object.freeze(other === undefined ? [printRow(row)] : [printRow(row), printRow(other)]),
    bookAge: fill.bookAge,
    tag: fill.tag,
  })
}
