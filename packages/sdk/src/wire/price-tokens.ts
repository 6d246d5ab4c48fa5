import { POW10 } from '../domain/index.ts'
import { writeScaled } from './digits.ts'

const QUOTE = 34

/** The text of every price of one tick size, made on first use. Cents take 600 bytes, 0.0001 ticks 60 KB. */
export class PriceTokens {
  readonly decimals: number
  /** Quotes around a price: none, one, or two where a quoted cell doubles them. */
  readonly quotes: number
  /** Bytes by price: the text of `ticks` starts at `ticks * stride`. */
  readonly bytes: Uint8Array
  readonly stride: number
  /** The length of each text, 0 while it is not made. */
  readonly length: Uint8Array

  constructor(decimals: number, quotes: number) {
    this.decimals = decimals
    this.quotes = quotes
    this.stride = decimals + 2 + 2 * quotes
    this.bytes = new Uint8Array(POW10[decimals]! * this.stride)
    this.length = new Uint8Array(POW10[decimals]!)
  }

  /** Copies the text of a price and returns where it ends. */
  write(out: Uint8Array, at: number, ticks: number): number {
    const length = this.length[ticks]! || this.make(ticks)
    const { bytes } = this
    const start = ticks * this.stride
    for (let index = 0; index < length; index++) out[at + index] = bytes[start + index]!
    return at + length
  }

  private make(ticks: number): number {
    const start = ticks * this.stride
    let end = start
    for (let index = 0; index < this.quotes; index++) this.bytes[end++] = QUOTE
    end = writeScaled(this.bytes, end, ticks, this.decimals)
    for (let index = 0; index < this.quotes; index++) this.bytes[end++] = QUOTE
    this.length[ticks] = end - start
    return end - start
  }
}
