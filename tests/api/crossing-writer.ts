import {
  toMicros,
  VENUES,
  type Instrument,
  type PriceTicks,
  type SizeUnits,
} from '../../packages/sdk/src/domain/index.ts'
import { BookAssembler } from '../../packages/sdk/src/tape/index.ts'
import type { Store } from '../../packages/service/src/store/store.ts'

/** The market whose price crosses. */
export const INSTRUMENT: Instrument = { venue: 'venueb', market: 'KXHOOK-26', key: 'KXHOOK-26' }

// One crossing in this many comes after a gap.
const GAP_EVERY = 25

/** Writes books that cross 0.5, and notes by itself which rows must fire. */
export class CrossingWriter {
  readonly expected: number[] = []
  readonly #store: Store
  readonly #assembler = new BookAssembler(INSTRUMENT)
  #sequence = 0
  #at = Date.now() * 1000
  #crossings = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** The market with a first book below the threshold. */
  async begin(): Promise<void> {
    const { venue, market: marketId } = INSTRUMENT
    const record = {
      venue,
      marketId,
      status: 'open',
      outcomes: [{ label: 'Yes', index: 0 }],
      units: VENUES[venue].units,
      native: {},
    } as const
    await this.#append({ revisions: [{ kind: 'market', record, ...this.#place() }] })
    await this.#book(4000)
  }

  /** One crossing: a book above and a book below. Some are behind a gap, and must not fire. */
  async cross(): Promise<void> {
    const isBehindGap = ++this.#crossings % GAP_EVERY === 0
    if (isBehindGap) await this.#gap()
    await this.#book(6000)
    if (!isBehindGap) this.expected.push(this.#sequence)
    await this.#book(4000)
  }

  async #gap(): Promise<void> {
    const { venue, key } = INSTRUMENT
    const start = toMicros(this.#at)
    const { received: end, journal } = this.#place()
    const gap = { venue, scope: 'instrument', key, reason: 'disconnected', start, end } as const
    this.#assembler.close()
    this.#assembler.markGap()
    await this.#append({ gaps: [{ ...gap, afterSequence: this.#sequence, journal }] })
  }

  async #book(price: number): Promise<void> {
    const level = (ticks: number) => ({ price: ticks as PriceTicks, size: 1000 as SizeUnits })
    const taken = this.#assembler.take({
      kind: 'snapshot',
      instrument: INSTRUMENT,
      bids: [level(price - 100)],
      asks: [level(price + 100)],
      ...this.#place(),
    })
    if ('violation' in taken) throw new Error(taken.violation)
    this.#sequence++
    await this.#append({ observations: [taken] })
  }

  // Time goes on with the clock, and never stands still.
  #place() {
    this.#at = Math.max(this.#at + 1000, Date.now() * 1000)
    return { received: toMicros(this.#at), journal: ++this.#journal }
  }
  #journal = 0

  async #append(rows: object): Promise<void> {
    const made = { origin: 'emulator', recorder: 'r1', normalizer: 1 } as const
    await this.#store.append({
      venue: INSTRUMENT.venue,
      position: this.#journal,
      ...made,
      ...rows,
    })
  }
}
