import type { MarketState } from '../store.ts'

const MAX_BYTES = 8 * 1024 * 1024
// A parsed record takes up to twice the bytes of its text, and what surrounds it 400. Measured.
const BYTES_PER_CHARACTER = 2
const ENTRY_BYTES = 400

/**
 * Records that lists showed last, by market; their bytes are bounded. A revision never changes, and no
 * market gets the number of another, so a record is right as long as the market has no newer revision.
 */
export class KeptRecords {
  private readonly entries = new Map<
    number,
    { readonly state: MarketState; readonly bytes: number }
  >()
  private bytes = 0

  get size(): number {
    return this.entries.size
  }

  get(market: number, revision: number): MarketState | undefined {
    const state = this.entries.get(market)?.state
    return state?.revision === revision ? state : undefined
  }

  /** Keeps a record that was made from a text of some length. */
  put(market: number, state: MarketState, length: number): void {
    this.remove(market)
    const bytes = ENTRY_BYTES + BYTES_PER_CHARACTER * length
    this.entries.set(market, { state, bytes })
    this.bytes += bytes
    while (this.bytes > MAX_BYTES) this.remove(this.entries.keys().next().value!)
  }

  private remove(market: number): void {
    this.bytes -= this.entries.get(market)?.bytes ?? 0
    this.entries.delete(market)
  }
}
