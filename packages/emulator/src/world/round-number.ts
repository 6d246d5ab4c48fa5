import type { RoundProposition, World } from '../core/upstream.ts'

/** What names a round: the same round has the same name after a restart of the emulator. */
type RoundName = Pick<RoundProposition, 'venue' | 'asset' | 'window' | 'openTime'>

const EPOCH_MS = Date.UTC(2024, 0, 1)
// Starts are counted in tenths of a second and repeat after 27 years: ids of venue A have 12 digits at most.
const UNIT_MS = 100
const UNITS = 2 ** 33
const ASSETS: readonly RoundProposition['asset'][] = ['BTC', 'ETH', 'BNB']
const WINDOWS: readonly RoundProposition['window'][] = ['5m', '15m', '1h']
const COPIES = 4

/** Gives the rounds of a venue numbers and names that follow from the seed and their start alone. */
export class RoundNumbers {
  readonly #world: World
  readonly #seed: number
  readonly #copies = new Map<string, number>()

  constructor(world: World, venue: string) {
    this.#world = world
    // Seeds differ, as if their rounds began some time apart.
    this.#seed = Number.parseInt(world.hex(`${venue}/start`, 4), 16)
  }

  /** Numbers the next round; two of the same family and start get different numbers. */
  next(round: RoundName): RoundNumber {
    const { venue, asset, window, openTime } = round
    const start = Math.floor((openTime - EPOCH_MS) / UNIT_MS)
    const key = `${venue}/${asset}/${window}/${start}`
    const copy = this.#copies.get(key) ?? 0
    this.#copies.set(key, copy + 1)
    const family = ASSETS.indexOf(asset) * WINDOWS.length + WINDOWS.indexOf(window)
    const families = ASSETS.length * WINDOWS.length
    const place = ((((start + this.#seed) % UNITS) + UNITS) % UNITS) * families + family
    const name = copy === 0 ? key : `${key}/${copy}`
    return {
      number: place * COPIES + (copy % COPIES),
      hex: (what, digits) => this.#world.hex(`${name}/${what}`, digits),
    }
  }
}

/** The number of a round, and further identifiers of it. */
export type RoundNumber = {
  readonly number: number
  /** Hex digits for the identifier of this kind. */
  readonly hex: (what: string, digits: number) => string
}
