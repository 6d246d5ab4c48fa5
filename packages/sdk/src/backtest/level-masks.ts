/**
 * Which levels of a market concern each run: a bit for each level at which the run has resting orders or has consumed
 * units, by `maskOf`. Bits of levels that are gone may still be set; a run that is not busy here has none. A row without
 * any of the bits does not concern the run. The masks of all runs lie side by side, because every row that concerns any
 * run looks at all of them.
 */
export class LevelMasks {
  /** By the place of the run; as long as the highest place that has acted here. Replaced as it grows. */
  values = new Int32Array(1)

  /** Makes room for a run. */
  admit(place: number): void {
    if (place < this.values.length) return
    const { values } = this
    this.values = new Int32Array(place + 1)
    this.values.set(values)
  }

  /** Adds the bit of a level. */
  add(place: number, key: number): void {
    this.values[place]! |= maskOf(key)
  }

  /** Replaces the bits of a run. */
  set(place: number, mask: number): void {
    this.values[place] = mask
  }
}

/** The bit of a level key in masks of 32 levels; neighbouring prices have different bits. */
export function maskOf(key: number): number {
  return 1 << (Math.imul(key, 0x9e3779b1) >>> 27)
}
