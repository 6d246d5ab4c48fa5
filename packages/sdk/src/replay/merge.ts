import type { EventSink, ReplayBatch, ReplayEvent } from './event.ts'
import type { Lane } from './lane.ts'

// Max events per batch, so that the reader can yield to the event loop between batches.
const BATCH_EVENTS = 1 << 16

/**
 * Merges lanes by received time; ties go to the lane that comes first in the list. The current lane is
 * kept outside the heap of the others and continues while its next event is before theirs.
 */
export class Merger implements Iterable<ReplayEvent> {
  /** Events emitted so far. */
  emitted = 0
  /** Of the last event; a number from the start, because a field that may be undefined boxes each value. */
  private emittedAt = -1
  private readonly lanes: readonly Lane[]
  /** Indexes of the other lanes as a heap, the one with the next event first. */
  private readonly heap: Int32Array
  private size = 0
  private readonly times: Float64Array
  private current = -1
  /** Time and lane of the next event of the others. */
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
    this.selectFirst()
  }

  /** The received time of the last event that was emitted. */
  get lastAt(): number | undefined {
    return this.emittedAt < 0 ? undefined : this.emittedAt
  }

  /** Loads the bytes of the next event and returns a batch; undefined at the end. */
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
      const current = this.lanes[place]!
      const { at } = current
      const isNext =
        current.isReady && (at < this.bound || (at === this.bound && place < this.boundLane))
      const lane = isNext ? current : this.switchLane()
      if (lane !== undefined) {
        // In here and not in a method, whose argument would be a new number for every event.
        this.emittedAt = lane.at
        this.left--
        this.emitted++
        result.done = false
        result.value = lane.shift()
        return result
      }
    }
    this.left = 0
    result.done = true
    result.value = undefined
    return result
  }

  /** Hands the events of the batch to a sink, those of one lane in a run while they come before the others'. */
  feed(sink: EventSink): void {
    while (this.left > 0) {
      const lane = this.switchLane()
      if (lane === undefined) break
      // Times are whole numbers: with 1 more, events of the same time come before the bound too.
      const before = this.current < this.boundLane ? this.bound + 1 : this.bound
      const count = lane.feed(sink, before, this.left)
      this.emittedAt = lane.fedAt
      this.left -= count
      this.emitted += count
    }
    this.left = 0
  }

  /** Continues with the lane of the next event; undefined where it must load first. */
  private switchLane(): Lane | undefined {
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
    } else this.selectFirst()
  }

  private selectFirst(): void {
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
    // Without other lanes, any lane is before the one of the bound; an integer is compared faster than Infinity.
    this.boundLane = this.size === 0 ? this.lanes.length : this.heap[0]!
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
