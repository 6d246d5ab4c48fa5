/** The order of what happens at one time; see `ReplayEvent` of the SDK. */
export const RANK = {
  market: 0,
  gapClose: 1,
  book: 2,
  trade: 3,
  gapOpen: 4,
} as const

/** The place of something in the order of a replay. */
export type Place = {
  readonly at: number
  readonly rank: number
  readonly index: number
  readonly sequence: number
}

/** One ordered source of a replay: rows of an instrument, revisions of a market, gaps of a key. */
export interface Lane extends Place {
  /** False while the place is a lower bound and the next item has to be read. */
  readonly isReady: boolean
  /** True when nothing is left. */
  readonly isDone: boolean
  /** Reads on until it is ready or done. */
  load(): Promise<void>
}

/** Whether one place lies before another. */
export function isBefore(left: Place, right: Place): boolean {
  if (left.at !== right.at) return left.at < right.at
  if (left.rank !== right.rank) return left.rank < right.rank
  if (left.index !== right.index) return left.index < right.index
  return left.sequence < right.sequence
}

/** Lanes by the place of their next item: a binary heap. */
export class LaneHeap<L extends Lane> {
  private readonly lanes: L[] = []

  /** The lane whose item is next. */
  get first(): L | undefined {
    return this.lanes[0]
  }

  /** The place up to which the first lane goes alone; absent when there is no other. */
  get second(): L | undefined {
    const left = this.lanes[1]
    const right = this.lanes[2]
    return left === undefined || right === undefined || isBefore(left, right) ? left : right
  }

  get size(): number {
    return this.lanes.length
  }

  add(lane: L): void {
    const { lanes } = this
    let at = lanes.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(lane, lanes[parent]!)) break
      lanes[at] = lanes[parent]!
      at = parent
    }
    lanes[at] = lane
  }

  /** Puts the first lane where it belongs after it moved on, or takes it out when it is done. */
  settle(): void {
    const { lanes } = this
    let moving = lanes[0]!
    if (moving.isDone) {
      moving = lanes.pop()!
      if (lanes.length === 0) return
    }
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= lanes.length) break
      const right = lanes[child + 1]
      if (right !== undefined && isBefore(right, lanes[child]!)) child++
      if (!isBefore(lanes[child]!, moving)) break
      lanes[at] = lanes[child]!
      at = child
    }
    lanes[at] = moving
  }
}
