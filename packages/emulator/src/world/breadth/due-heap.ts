/** Things that are due at times, the earliest first; equal times in the order in which they were added. */
export class DueHeap<T> {
  readonly #items: { readonly at: number; readonly number: number; readonly item: T }[] = []
  #added = 0

  get size(): number {
    return this.#items.length
  }

  add(at: number, item: T): void {
    const items = this.#items
    let place = items.length
    const added = { at, number: this.#added++, item }
    items.push(added)
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!isBefore(added, items[parent]!)) break
      items[place] = items[parent]!
      place = parent
    }
    items[place] = added
  }

  /** Removes and returns the earliest that is due; undefined where none is. */
  shiftDue(now: number): T | undefined {
    const items = this.#items
    const first = items[0]
    if (first === undefined || first.at > now) return undefined
    const last = items.pop()!
    if (items.length > 0) this.#sink(last)
    return first.item
  }

  #sink(sinking: { readonly at: number; readonly number: number; readonly item: T }): void {
    const items = this.#items
    let place = 0
    for (;;) {
      let child = 2 * place + 1
      if (child >= items.length) break
      if (child + 1 < items.length && isBefore(items[child + 1]!, items[child]!)) child++
      if (!isBefore(items[child]!, sinking)) break
      items[place] = items[child]!
      place = child
    }
    items[place] = sinking
  }
}

type Due = { readonly at: number; readonly number: number }

function isBefore(a: Due, b: Due): boolean {
  return a.at < b.at || (a.at === b.at && a.number < b.number)
}
