import type { ReplayBatch, ReplayEvent } from './event.ts'
import type { Lane } from './lane.ts'

// A batch is handed out after so many events, so that whoever reads it can let others in between.
const BATCH_EVENTS = 1 << 16

/**
 * Merges lanes by time; at the same time the lane that stands first comes first. The lane that is told
 * stays outside the heap of the others and goes on while its next event is before the first of them.
 */
export class Merger implements Iterable<ReplayEvent> {
  /** Events told so far, and when the last one was received. */
  told = 0
  lastAt: number | undefined
  private readonly lanes: readonly Lane[]
  /** Places of lanes, the one with the first event at 0; without the current one. */
  private readonly heap: Int32Array
  private size = 0
  private readonly times: Float64Array
  private current = -1
  /** The first event of the others. */
  private bound = Infinity
  private boundLane = -1
  private left = 0
  private readonly result: { done: boolean; value: ReplayEvent | undefined } = {
    done: false,
    value: undefined,
  }

  constructor(lanes: readonly Lane[]) {
    this.lanes = lanes
    this.heap = new Int32Array(lanes.length + 1)
    this.times = new Float64Array(lanes.length)
    for (const [place, lane] of lanes.entries()) {
      this.times[place] = lane.at
      if (lane.at < Infinity) this.push(place)
    }
    this.takeFirst()
  }

  /** Loads what the next event needs; undefined at the end. */
  async nextBatch(): Promise<ReplayBatch | undefined> {
    for (;;) {
      if (this.current < 0) return undefined
      const lane = this.lanes[this.current]!
      if (lane.isReady && this.isFirst(lane.at, this.current)) break
      if (!lane.isReady && !lane.prepare()) await lane.load()
      else this.settle(lane.at)
    }
    this.left = BATCH_EVENTS
    return this
  }

  [Symbol.iterator](): Iterator<ReplayEvent> {
    return this as unknown as Iterator<ReplayEvent>
  }

  /** The next event of the batch. */
  next(): { done: boolean; value: ReplayEvent | undefined } {
    const { result } = this
    if (this.left > 0) {
      const place = this.current
      const lane = this.lanes[place]!
      const { at } = lane
      if (lane.isReady && (at < this.bound || (at === this.bound && place < this.boundLane))) {
        return this.tell(lane, at)
      }
      const other = this.turn()
      if (other !== undefined) return this.tell(other, other.at)
    }
    this.left = 0
    result.done = true
    result.value = undefined
    return result
  }

  private tell(lane: Lane, at: number): { done: boolean; value: ReplayEvent | undefined } {
    const { result } = this
    result.done = false
    result.value = lane.tell()
    this.left--
    this.told++
    this.lastAt = at
    return result
  }

  /** Goes on with the lane whose turn it is, if that needs no loading. */
  private turn(): Lane | undefined {
    while (this.current >= 0) {
      const lane = this.lanes[this.current]!
      if (!this.isFirst(lane.at, this.current)) this.settle(lane.at)
      else if (lane.isReady) return lane
      else if (!lane.prepare()) return undefined
      else if (!lane.isReady) this.settle(lane.at)
    }
    return undefined
  }

  private isFirst(at: number, place: number): boolean {
    return at < this.bound || (at === this.bound && place < this.boundLane)
  }

  /** Puts the current lane back among the others, or away at its end, and takes the first of them. */
  private settle(at: number): void {
    const place = this.current
    if (at < Infinity) {
      this.times[place] = at
      if (this.isFirst(at, place)) return
      const first = this.heap[0]!
      this.heap[0] = place
      this.sink(0)
      this.current = first
      this.setBound()
    } else this.takeFirst()
  }

  private takeFirst(): void {
    if (this.size === 0) {
      this.current = -1
      return
    }
    this.current = this.heap[0]!
    this.heap[0] = this.heap[--this.size]!
    this.sink(0)
    this.setBound()
  }

  private setBound(): void {
    this.boundLane = this.size === 0 ? Infinity : this.heap[0]!
    this.bound = this.size === 0 ? Infinity : this.times[this.boundLane]!
  }

  private isBefore(left: number, right: number): boolean {
    const byTime = this.times[left]! - this.times[right]!
    return byTime === 0 ? left < right : byTime < 0
  }

  private push(place: number): void {
    const { heap } = this
    let at = this.size++
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.isBefore(place, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = place
  }

  private sink(start: number): void {
    const { heap, size } = this
    if (size === 0) return
    const place = heap[start]!
    let at = start
    for (;;) {
      let child = 2 * at + 1
      if (child >= size) break
      if (child + 1 < size && this.isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!this.isBefore(heap[child]!, place)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = place
  }
}
