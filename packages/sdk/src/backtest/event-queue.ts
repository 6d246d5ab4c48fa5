type Entry<T> = { readonly at: number; readonly order: number; readonly event: T }

/**
 * The future of a run and its clock: a binary heap of events, nearest first. Events of the same time
 * keep the order in which they were added.
 */
export class EventQueue<T> {
  /** The simulated time, in microseconds. */
  now = 0
  /** The time of the nearest event; Infinity while the queue is empty. */
  next = Infinity
  private readonly heap: Entry<T>[] = []
  private readonly onAdd: (at: number) => void
  private added = 0

  constructor(onAdd: (at: number) => void = () => undefined) {
    this.onAdd = onAdd
  }

  get size(): number {
    return this.heap.length
  }

  /** Adds an event at a time. */
  add(at: number, event: T): void {
    const { heap } = this
    const entry = { at, order: this.added++, event }
    let index = heap.length
    heap.push(entry)
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isBefore(entry, heap[parent]!)) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = entry
    this.next = heap[0]!.at
    this.onAdd(at)
  }

  /** Removes the nearest event and moves the clock to its time; undefined when the queue is empty. */
  shift(): T | undefined {
    const { heap } = this
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined) return undefined
    if (heap.length > 0) this.sink(last)
    this.next = heap.length === 0 ? Infinity : heap[0]!.at
    this.now = first.at
    return first.event
  }

  private sink(entry: Entry<T>): void {
    const { heap } = this
    const { length } = heap
    let index = 0
    for (;;) {
      let child = index * 2 + 1
      if (child >= length) break
      if (child + 1 < length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, entry)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = entry
  }
}

function isBefore<T>(left: Entry<T>, right: Entry<T>): boolean {
  return left.at < right.at || (left.at === right.at && left.order < right.order)
}
