import {
  checkBook,
  decimalText,
  parseMicros,
  parseScaled,
  POW10,
  PriorbookError,
  VENUES,
  VIOLATIONS,
  type VenueId,
} from '../domain/index.ts'
import type { LadderSide } from '../tape/index.ts'
import { ReceivedRows, type LadderJson } from '../client/index.ts'

/** A row as a file has it. */
export type FileRow = {
  readonly id: string
  readonly venue: VenueId
  readonly market_id: string
  readonly sequence: number
  readonly received_time: string | number
  readonly bids?: LadderJson
  readonly asks?: LadderJson
}

/** The result of one check of a file. */
export type Finding = { readonly check: string; readonly isGood: boolean; readonly detail: string }

/** A failed check of a row. */
export type RowFault = { readonly id: string; readonly code: string; readonly detail: string }

const MOST_FAULTS = 100

/**
 * Checks the rows of a file: the six checks of the interface document, sequences that rise, and the count
 * of rows by instrument.
 */
export class RowChecks {
  readonly received = new ReceivedRows()
  /** The first failures; `faultCount` counts all. */
  readonly faults: RowFault[] = []
  faultCount = 0
  rows = 0
  /** Rows with ladders, on which all six checks can be made. */
  books = 0
  private readonly last = new Map<string, number>()

  add(row: FileRow): void {
    this.count(row.id, row.sequence)
    if (row.bids === undefined || row.asks === undefined) return
    this.books++
    const code = this.check(row, row.bids, row.asks)
    if (code !== undefined) this.blame(row.id, code.code, code.detail)
  }

  /** Checks a book in ticks and units, as a tape has it. */
  addLadder(
    id: string,
    marketId: string,
    sequence: number,
    received: number,
    one: number,
    bids: LadderSide,
    asks: LadderSide,
  ): void {
    this.count(id, sequence)
    this.books++
    const code = checkBook({
      id: marketId,
      received,
      one,
      bidPrice: bids.price,
      bidSize: bids.size,
      askPrice: asks.price,
      askSize: asks.size,
    })
    if (code !== undefined) this.blame(id, code, VIOLATIONS[code])
  }

  blame(id: string, code: string, detail: string): void {
    this.faultCount++
    if (this.faults.length < MOST_FAULTS) this.faults.push({ id, code, detail })
  }

  private count(id: string, sequence: number): void {
    this.rows++
    this.received.add(id)
    const series = id.slice(0, id.lastIndexOf(':'))
    const before = this.last.get(series) ?? 0
    if (sequence <= before) this.blame(id, 'sequence_order', `${sequence} comes after ${before}`)
    this.last.set(series, sequence)
  }

  private check(
    row: FileRow,
    bids: LadderJson,
    asks: LadderJson,
  ): { readonly code: string; readonly detail: string } | undefined {
    try {
      const { priceDecimals, sizeDecimals } = VENUES[row.venue]
      const scale = (values: readonly (number | string)[], decimals: number): number[] =>
        values.map((value) => parseScaled(decimalText(value), decimals))
      const code = checkBook({
        id: row.market_id,
        received: microsOf(row.received_time),
        one: POW10[priceDecimals]!,
        bidPrice: scale(bids.price, priceDecimals),
        bidSize: scale(bids.size, sizeDecimals),
        askPrice: scale(asks.price, priceDecimals),
        askSize: scale(asks.size, sizeDecimals),
      })
      return code === undefined ? undefined : { code, detail: VIOLATIONS[code] }
    } catch (error) {
      if (error instanceof PriorbookError) return { code: error.code, detail: error.message }
      return { code: 'invalid_row', detail: 'The row has not the fields of a book.' }
    }
  }
}

function microsOf(time: string | number): number {
  return typeof time === 'number' ? time : parseMicros(time)
}
