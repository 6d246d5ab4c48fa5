import type { Column } from './history.ts'

/** A picture of depth: one byte of intensity per cell and side, rows from the highest price down. */
export type HeatGrid = {
  readonly width: number
  readonly height: number
  /** Ticks of the top row and the bottom row. */
  readonly top: number
  readonly bottom: number
  /** Ticks per row. */
  readonly tick: number
  /** 0 for no order, else 1 to 255. */
  readonly bids: Uint8Array
  readonly asks: Uint8Array
  /** The size that is drawn in full colour. */
  readonly most: number
}

// Max rows of a picture; more could not be seen.
const MAX_ROWS = 500

/** Draws columns into a grid; intensity grows with the logarithm of size. */
export function toHeatGrid(columns: readonly (Column | undefined)[]): HeatGrid | undefined {
  const extent = extentOf(columns)
  if (extent === undefined) return undefined
  const { low, high, step, most } = extent
  const tick = Math.max(step, Math.ceil((high - low + 1) / MAX_ROWS / step) * step)
  const bottom = Math.floor(low / tick) * tick
  const top = Math.floor(high / tick) * tick
  const height = Math.round((top - bottom) / tick) + 1
  const width = columns.length
  const bids = new Uint8Array(width * height)
  const asks = new Uint8Array(width * height)
  const scale = 254 / Math.log1p(most)
  const paint = (
    cells: Uint8Array,
    x: number,
    ticks: readonly number[],
    sizes: readonly number[],
  ): void => {
    for (let level = 0; level < ticks.length; level++) {
      const y = (top - Math.floor(ticks[level]! / tick) * tick) / tick
      const value = Math.min(255, 1 + Math.log1p(sizes[level]!) * scale)
      const cell = y * width + x
      // Levels that share a row show the largest of them.
      if (value > cells[cell]!) cells[cell] = value
    }
  }
  for (let x = 0; x < width; x++) {
    const column = columns[x]
    if (column === undefined) continue
    paint(bids, x, column.bidTicks, column.bidSize)
    paint(asks, x, column.askTicks, column.askSize)
  }
  return { width, height, top, bottom, tick, bids, asks, most }
}

type Extent = {
  readonly low: number
  readonly high: number
  readonly step: number
  readonly most: number
}

// A histogram of the logarithms of sizes gives a percentile without sorting.
const BINS = 512
const BINS_PER_E = 16

function extentOf(columns: readonly (Column | undefined)[]): Extent | undefined {
  let low = Infinity
  let high = -Infinity
  let step = 0
  let count = 0
  const bins = new Uint32Array(BINS)
  let before: Column | undefined
  for (const column of columns) {
    // A book that lasts for many buckets is the same object in all of them.
    if (column === undefined || column === before) continue
    before = column
    for (const ticks of [column.bidTicks, column.askTicks]) {
      for (const tick of ticks) {
        if (tick < low) low = tick
        if (tick > high) high = tick
        if (step !== 1) step = divisor(step, tick)
      }
    }
    for (const sizes of [column.bidSize, column.askSize]) {
      for (const size of sizes)
        bins[Math.min(BINS - 1, Math.floor(Math.log1p(size) * BINS_PER_E))]!++
      count += sizes.length
    }
  }
  if (count === 0) return undefined
  // The largest 2 % are ignored, so that one enormous order does not make all others pale.
  let left = count * 0.02
  let bin = BINS - 1
  while (bin > 0 && (left -= bins[bin]!) >= 0) bin--
  return { low, high, step: Math.max(1, step), most: Math.expm1((bin + 1) / BINS_PER_E) }
}

function divisor(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b]
  return a
}
