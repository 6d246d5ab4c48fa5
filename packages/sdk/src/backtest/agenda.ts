/** Something that will happen at a time of the run, in the order it was planned where times tie. */
export type Planned<T> = { readonly at: number; readonly order: number; readonly what: T }

/** The things to come, nearest first: a binary heap. */
export class Agenda<T> {
  /** The time of the nearest one, Infinity when there is none. */
  next = Infinity
  private readonly heap: Planned<T>[] = []
  private planned = 0

  get size(): number {
    return this.heap.length
  }

  /** Plans something. */
  add(at: number, what: T): void {
    const { heap } = this
    const item = { at, order: this.planned++, what }
    let index = heap.length
    heap.push(item)
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isBefore(item, heap[parent]!)) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = item
    this.next = heap[0]!.at
  }

  /** Takes the nearest one away. */
  take(): Planned<T> | undefined {
    const { heap } = this
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined) return undefined
    if (heap.length > 0) this.sink(last)
    this.next = heap.length === 0 ? Infinity : heap[0]!.at
    return first
  }

  private sink(item: Planned<T>): void {
    const { heap } = this
    const { length } = heap
    let index = 0
    for (;;) {
      let child = index * 2 + 1
      if (child >= length) break
      if (child + 1 < length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, item)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = item
  }
}

function isBefore<T>(left: Planned<T>, right: Planned<T>): boolean {
  return left.at < right.at || (left.at === right.at && left.order < right.order)
}
