/**
 * How often each value of a list of whole numbers from 0 is in it. A table by hand, which is used again for every list: a
 * Map of numbers takes several times as long, and packing counts every column several times.
 */
export class ValueCounts {
  /** How many values differ. */
  size = 0
  /** The different values, in the order of their first use. */
  values = new Float64Array(0)
  counts = new Uint32Array(0)
  #slots = new Int32Array(0)

  /** Counts a list; false where more than `max` of its values differ. */
  count(list: Float64Array, max = Infinity): boolean {
    const bits = 34 - Math.clz32(list.length)
    this.#room(list.length, 2 ** bits)
    const slots = this.#slots
    const { values, counts } = this
    slots.fill(0, 0, 2 ** bits)
    this.size = 0
    const last = 2 ** bits - 1
    for (let index = 0; index < list.length; index++) {
      const value = list[index]!
      const mixed = Math.imul((value | 0) ^ ((value / 2 ** 32) | 0), 0x9e3779b1)
      let slot = mixed >>> (32 - bits)
      // A slot has the place of a value, from 1.
      while (slots[slot] !== 0 && values[slots[slot]! - 1] !== value) slot = (slot + 1) & last
      if (slots[slot] === 0) {
        if (this.size >= max) return false
        values[this.size] = value
        counts[this.size] = 0
        slots[slot] = ++this.size
      }
      counts[slots[slot]! - 1]!++
    }
    return true
  }

  #room(length: number, slots: number): void {
    if (this.values.length < length) {
      this.values = new Float64Array(length)
      this.counts = new Uint32Array(length)
    }
    if (this.#slots.length < slots) this.#slots = new Int32Array(slots)
  }
}
