import { Clock } from './clock.ts'

/**
 * The future of a run: a binary heap of events, nearest first. Events of the same time
 * keep the order in which they were added. Times and numbers are columns, because an entry per event
 * would be most of what a run allocates.
 */
export class EventQueue<T> {
  /** The time of the nearest event; Infinity while the queue is empty. */
  next = Infinity
  private times = new Float64Array(64)
  /** The number of each event in the order of adding. */
  private numbers = new Float64Array(64)
  readonly clock: Clock
  private readonly events: (T | undefined)[] = []
  private count = 0
  private readonly onAdd: (at: number) => void
  private added = 0

  constructor(onAdd: (at: number) => void = () => undefined, clock: Clock = new Clock()) {
    this.onAdd = onAdd
    this.clock = clock
  }

  /** The simulated time, in microseconds. */
  get now(): number {
    return this.clock.now
  }

  get size(): number {
    return this.count
  }

  /** Adds an event at a time. */
  add(at: number, event: T): void {
    if (this.count === this.times.length) this.grow()
    const { times, numbers, events } = this
    let index = this.count++
    // Nothing that was added before comes after it where the times are equal.
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (times[parent]! <= at) break
      times[index] = times[parent]!
      numbers[index] = numbers[parent]!
      events[index] = events[parent]
      index = parent
    }
    times[index] = at
    numbers[index] = this.added++
    events[index] = event
    this.next = times[0]!
    this.onAdd(at)
  }

  /** Removes the nearest event and moves the clock to its time; undefined when the queue is empty. */
  shift(): T | undefined {
    if (this.count === 0) return undefined
    const { times, events } = this
    const first = events[0]
    this.clock.now = times[0]!
    const last = --this.count
    if (last > 0) this.sink(times[last]!, this.numbers[last]!, events[last])
    events[last] = undefined
    this.next = last === 0 ? Infinity : times[0]!
    return first
  }

  private sink(at: number, number: number, event: T | undefined): void {
    const { times, numbers, events, count } = this
    let index = 0
    for (;;) {
      let child = index * 2 + 1
      if (child >= count) break
      const other = child + 1
      if (
        other < count &&
        (times[other]! < times[child]! ||
          (times[other] === times[child] && numbers[other]! < numbers[child]!))
      ) {
        child = other
      }
      if (times[child]! > at || (times[child] === at && numbers[child]! > number)) break
      times[index] = times[child]!
      numbers[index] = numbers[child]!
      events[index] = events[child]
      index = child
    }
    times[index] = at
    numbers[index] = number
    events[index] = event
  }

  private grow(): void {
    const { times, numbers } = this
    this.times = new Float64Array(times.length * 2)
    this.times.set(times)
    this.numbers = new Float64Array(numbers.length * 2)
    this.numbers.set(numbers)
  }
}
