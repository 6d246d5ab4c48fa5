import type { HeadColumns } from '@priorbook/sdk/tape'
import {
  isBefore,
  type BookLane,
  type Lane,
  type RowLane,
  type RowPart,
  type RunPart,
} from './lane.ts'

/** Lanes by the place of their next item: a binary heap. */
export class Merge<L extends Lane> {
  private readonly lanes: L[] = []

  constructor(lanes: Iterable<L> = []) {
    for (const lane of lanes) this.add(lane)
  }

  /** The lane whose item is next, loaded or not. */
  get first(): L | undefined {
    return this.lanes[0]
  }

  /** The lane whose item is next, if it is loaded; saves an `await` per item. */
  get ready(): L | undefined {
    const lane = this.lanes[0]
    return lane?.isReady === true ? lane : undefined
  }

  /** The place up to which the first lane goes alone; absent where there is no other lane. */
  get second(): L | undefined {
    const left = this.lanes[1]
    const right = this.lanes[2]
    return left === undefined || right === undefined || isBefore(left, right) ? left : right
  }

  get size(): number {
    return this.lanes.length
  }

  /**
   * The lane whose item is next, loaded; absent at the end. Shift from it, then call `settle`. `afterLoad`
   * runs after each load, when lanes may be added.
   */
  async next(afterLoad?: () => void | Promise<void>): Promise<L | undefined> {
    for (;;) {
      const lane = this.lanes[0]
      if (lane === undefined || lane.isReady) return lane
      await lane.load()
      this.settle()
      await afterLoad?.()
    }
  }

  add(lane: L): void {
    if (lane.isDone) return
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

  /** Restores the order after the first lane moved on, and removes it when it is done. */
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

/** Shifts at most `most` observations off the lanes, in their order. */
export async function shiftRuns(merge: Merge<BookLane>, most: number): Promise<RunPart[]> {
  const parts: RunPart[] = []
  for (let left = most; left > 0;) {
    const lane = merge.ready ?? (await merge.next())
    if (lane === undefined) break
    const part = lane.shiftBefore(merge.second, left)
    left -= part.to - part.from
    parts.push(part)
    merge.settle()
  }
  return parts
}

/** Shifts at most `most` trades or samples off the lanes, in their order. */
export async function shiftRows<Columns extends HeadColumns>(
  merge: Merge<RowLane<Columns>>,
  most: number,
): Promise<RowPart<Columns>[]> {
  const rows: RowPart<Columns>[] = []
  while (rows.length < most) {
    const lane = merge.ready ?? (await merge.next())
    if (lane === undefined) break
    rows.push(lane.shift())
    merge.settle()
  }
  return rows
}
