import { useComputed, useSignalEffect } from '@preact/signals'
import { useCallback, useEffect, useRef } from 'preact/hooks'
import { colour, paint } from '../app/theme.ts'
import { showAxis, showClock, showPrice } from '../app/show.ts'
import { padDecimal, placesIn, printCount, printTicks } from '../model/decimal.ts'
import { toHeatGrid, type HeatGrid } from '../model/heat.ts'
import type { Range } from '../model/range.ts'
import type { ChartStore } from '../session/chart-store.ts'
import { Cursor } from './cursor.tsx'
import { drawGaps, GUTTER, timeTicks, toX } from './stage.ts'
import { useWidth } from './use-size.ts'

const AXIS = 20

/** Depth over time: every level of every sampled book, bids blue, asks orange, gaps hatched. */
export function Heatmap(props: { readonly store: ChartStore; readonly height: number }) {
  const { store, height } = props
  const { ref, width } = useWidth()
  const canvas = useRef<HTMLCanvasElement>(null)
  const grid = useComputed(() => toHeatGrid(store.columns.value))
  const draw = (): void => {
    const range = store.range.value
    void paint.value
    const element = canvas.current
    if (element === null || width === 0) return
    const ratio = devicePixelRatio
    element.width = Math.round(width * ratio)
    element.height = Math.round(height * ratio)
    // The span of the picture, for scripts that read the page.
    element.dataset['from'] = String(range?.from ?? '')
    element.dataset['to'] = String(range?.to ?? '')
    drawHeat(element, grid.value, store, range, { width, height, ratio })
  }
  useSignalEffect(draw)
  useEffect(draw, [width, height])

  // The place of the pointer between top and bottom; absent while it is over another chart.
  const part = useRef<number | undefined>(undefined)
  const values = useCallback(
    (time: number) => readout(store, grid.peek(), time, part.current),
    [store],
  )
  return (
    <div
      class="chart heatmap"
      ref={ref}
      onPointerMoveCapture={(event) => {
        const box = event.currentTarget.getBoundingClientRect()
        part.current = (event.clientY - box.top) / (height - AXIS)
      }}
      onPointerLeave={() => (part.current = undefined)}
    >
      <canvas
        ref={canvas}
        style={{ width: '100%', height: `${height}px` }}
        role="img"
        aria-label="Depth of the book over time and price; bids blue, asks orange, gaps hatched"
        data-ready={grid.value === undefined ? 'no' : 'yes'}
      />
      <Cursor store={store} width={width} height={height - AXIS} values={values} />
    </div>
  )
}

/** The best levels at an instant, or the level that is pointed at; `part` counts from the top. */
function readout(
  store: ChartStore,
  grid: HeatGrid | undefined,
  time: number,
  part: number | undefined,
): string {
  const column = store.columnAt(time)
  const { value: history } = store.history
  const clock = showClock(time)
  if (typeof column === 'string' || history === undefined) return `${clock} · ${column as string}`
  const { decimals } = history
  const { bidTicks, bidSize, askTicks, askSize } = column
  if (part === undefined || grid === undefined) {
    const best = (name: string, ticks: readonly number[], sizes: readonly number[]): string =>
      ticks[0] === undefined
        ? `no ${name}`
        : `${name} ${printCount(sizes[0]!)} at ${showPrice(printTicks(ticks[0], decimals))}`
    return `${clock} · ${best('bid', bidTicks, bidSize)} · ${best('ask', askTicks, askSize)}`
  }
  const ticks = grid.top - Math.floor(part * grid.height) * grid.tick
  const sizeAt = (prices: readonly number[], sizes: readonly number[]): number =>
    prices.reduce(
      (sum, tick, index) =>
        Math.floor(tick / grid.tick) * grid.tick === ticks ? sum + sizes[index]! : sum,
      0,
    )
  const bid = sizeAt(bidTicks, bidSize)
  const ask = sizeAt(askTicks, askSize)
  const places = Math.max(2, placesIn(grid.tick, decimals))
  const price = showPrice(padDecimal(printTicks(ticks, decimals), places))
  const what = bid > 0 ? `bid ${printCount(bid)}` : ask > 0 ? `ask ${printCount(ask)}` : 'no order'
  return `${clock} · ${price} · ${what}`
}

type Frame = { readonly width: number; readonly height: number; readonly ratio: number }

function drawHeat(
  element: HTMLCanvasElement,
  grid: HeatGrid | undefined,
  store: ChartStore,
  range: Range | undefined,
  { width, height, ratio }: Frame,
): void {
  const context = element.getContext('2d')!
  const plot = height - AXIS
  context.fillStyle = colour('plot')
  context.fillRect(
    GUTTER.left * ratio,
    0,
    (width - GUTTER.left - GUTTER.right) * ratio,
    plot * ratio,
  )
  if (range === undefined) return
  const { value: history } = store.history
  context.save()
  context.beginPath()
  context.rect(GUTTER.left * ratio, 0, (width - GUTTER.left - GUTTER.right) * ratio, plot * ratio)
  context.clip()
  if (grid !== undefined && history !== undefined) {
    const left = toX(history.from, range, width) * ratio
    const right = toX(history.from + history.columns.length * history.step, range, width) * ratio
    context.imageSmoothingEnabled = false
    context.drawImage(toImage(grid), left, 0, right - left, plot * ratio)
    drawBest(context, grid, store, range, { width, height: plot, ratio })
  }
  drawGaps(context, store.gaps.value, range, { width, top: 0, height: plot, ratio })
  context.restore()
  drawAxes(context, grid, history?.decimals ?? 4, range, { width, height, ratio })
}

const image = document.createElement('canvas')
const LEVELS = 256
let drawn: { readonly grid: HeatGrid; readonly paint: number } | undefined

// The same grid is often drawn again while its range grows.
function toImage(grid: HeatGrid): HTMLCanvasElement {
  if (drawn?.grid === grid && drawn.paint === paint.peek()) return image
  drawn = { grid, paint: paint.peek() }
  image.width = grid.width
  image.height = grid.height
  const context = image.getContext('2d', { willReadFrequently: true })!
  const data = context.createImageData(grid.width, grid.height)
  const cells = new Uint32Array(data.data.buffer)
  const bids = ramp(colour('bid-low'), colour('bid-high'))
  const asks = ramp(colour('ask-low'), colour('ask-high'))
  for (let cell = 0; cell < cells.length; cell++) {
    const bid = grid.bids[cell]!
    const ask = grid.asks[cell]!
    if (bid >= ask) {
      if (bid > 0) cells[cell] = bids[bid]!
    } else cells[cell] = asks[ask]!
  }
  context.putImageData(data, 0, 0)
  return image
}

// Colours from small to large orders, as pixels.
function ramp(low: string, high: string): Uint32Array {
  const [a, b] = [channels(low), channels(high)]
  return Uint32Array.from({ length: LEVELS }, (_, index) => {
    const part = (index / (LEVELS - 1)) ** 2.1
    const mix = (channel: 0 | 1 | 2): number =>
      Math.round(a[channel] + (b[channel] - a[channel]) * part)
    return (255 << 24) | (mix(2) << 16) | (mix(1) << 8) | mix(0)
  })
}

function channels(hex: string): [number, number, number] {
  const value = Number.parseInt(hex.slice(1), 16)
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255]
}

function drawBest(
  context: CanvasRenderingContext2D,
  grid: HeatGrid,
  store: ChartStore,
  range: Range,
  { width, height, ratio }: Frame,
): void {
  const history = store.history.value!
  const toY = (ticks: number): number =>
    ((grid.top - ticks + grid.tick / 2) / (grid.height * grid.tick)) * height * ratio
  for (const side of ['bidTicks', 'askTicks'] as const) {
    context.strokeStyle = colour(side === 'bidTicks' ? 'bid-line' : 'ask-line')
    context.lineWidth = 1.25 * ratio
    context.beginPath()
    let isDown = false
    for (const [index, column] of store.columns.value.entries()) {
      const best = column?.[side][0]
      if (best === undefined) {
        isDown = false
        continue
      }
      const left = toX(history.from + index * history.step, range, width) * ratio
      const right = toX(history.from + (index + 1) * history.step, range, width) * ratio
      const y = toY(best)
      if (isDown) context.lineTo(left, y)
      else context.moveTo(left, y)
      context.lineTo(right, y)
      isDown = true
    }
    context.stroke()
  }
}

// Distances of price labels; books of very fine ticks may lie within a thousandth.
const PRICE_STEPS: readonly number[] = [6, 5, 4, 3, 2, 1].flatMap((places) =>
  (places === 1 ? [1, 2] : [1, 2, 5]).map((part) => part / 10 ** places),
)

function drawAxes(
  context: CanvasRenderingContext2D,
  grid: HeatGrid | undefined,
  decimals: number,
  range: Range,
  { width, height, ratio }: Frame,
): void {
  const plot = height - AXIS
  context.font = `${11 * ratio}px ${colour('font')}`
  context.fillStyle = colour('soft')
  context.textBaseline = 'middle'
  context.textAlign = 'right'
  if (grid !== undefined) {
    const span = grid.height * grid.tick
    const one = 10 ** decimals
    const wanted = span / Math.max(2, plot / 34)
    const step = PRICE_STEPS.find((part) => part * one >= wanted) ?? 0.25
    const places = Math.max(2, Math.ceil(-Math.log10(step)))
    const bottom = grid.top - span + grid.tick
    for (
      let ticks = Math.ceil(bottom / (step * one)) * step * one;
      ticks <= grid.top;
      ticks += step * one
    ) {
      const y = ((grid.top - ticks + grid.tick / 2) / span) * plot
      if (y > 6 && y < plot - 6) {
        context.fillText(showAxis(ticks / one, places), (GUTTER.left - 6) * ratio, y * ratio)
      }
    }
  }
  context.textAlign = 'center'
  context.strokeStyle = colour('line')
  for (const { time, label } of timeTicks(range, width)) {
    const x = toX(time, range, width)
    if (x < GUTTER.left + 16 || x > width - GUTTER.right - 16) continue
    context.fillText(label, x * ratio, (plot + AXIS / 2 + 1) * ratio)
  }
}
