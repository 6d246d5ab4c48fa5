import { isMarketState } from '@priorbook/sdk/domain'
import { offsetOf } from '../app/show.ts'
import { colour } from '../app/theme.ts'
import type { GapSpan } from '../model/gap.ts'
import type { Range } from '../model/range.ts'

/** The margins of all charts, so that the same instant has the same position in each. */
export const GUTTER = { left: 46, right: 10 } as const

/** The position of an instant, in pixels from the left edge of a chart. */
export function toX(time: number, range: Range, width: number): number {
  const inner = width - GUTTER.left - GUTTER.right
  return GUTTER.left + ((time - range.from) / (range.to - range.from)) * inner
}

/** The instant at a pixel. */
export function fromX(x: number, range: Range, width: number): number {
  const inner = width - GUTTER.left - GUTTER.right
  const part = Math.min(1, Math.max(0, (x - GUTTER.left) / inner))
  return range.from + part * (range.to - range.from)
}

let hatch: { readonly key: string; readonly pattern: CanvasPattern } | undefined

/** The diagonal lines of gaps, which can also be told apart without colours. */
export function hatchPattern(context: CanvasRenderingContext2D, ratio: number): CanvasPattern {
  const key = `${colour('gap-line')} ${colour('gap-back')} ${ratio}`
  if (hatch?.key === key) return hatch.pattern
  const size = Math.round(7 * ratio)
  const tile = document.createElement('canvas')
  tile.width = tile.height = size
  const brush = tile.getContext('2d')!
  brush.fillStyle = colour('gap-back')
  brush.fillRect(0, 0, size, size)
  brush.strokeStyle = colour('gap-line')
  brush.lineWidth = ratio
  brush.beginPath()
  for (const shift of [-size, 0, size]) {
    brush.moveTo(shift - 1, size + 1)
    brush.lineTo(shift + size + 1, -1)
  }
  brush.stroke()
  const pattern = context.createPattern(tile, 'repeat')!
  hatch = { key, pattern }
  return pattern
}

/** Draws gaps; each is at least a line, however short it was. Time in which the market was not open is plain. */
export function drawGaps(
  context: CanvasRenderingContext2D,
  gaps: readonly GapSpan[],
  range: Range,
  place: {
    readonly width: number
    readonly top: number
    readonly height: number
    readonly ratio: number
  },
): void {
  const { width, top, height, ratio } = place
  for (const { start, end, reason } of gaps) {
    const from = Math.max(start, range.from)
    const to = Math.min(end ?? range.to, range.to)
    if (to <= from) continue
    const left = toX(from, range, width)
    const right = Math.max(left + 1.5, toX(to, range, width))
    context.fillStyle = isMarketState(reason) ? colour('gap-back') : hatchPattern(context, ratio)
    context.fillRect(left * ratio, top * ratio, (right - left) * ratio, height * ratio)
  }
}

const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400,
  172_800, 604_800, 1_209_600, 2_592_000,
]

/** Round instants of a range, about one every 90 pixels, with their labels by the visitor's clock. */
export function timeTicks(
  range: Range,
  width: number,
): readonly { readonly time: number; readonly label: string }[] {
  const wanted = (range.to - range.from) / Math.max(1, (width - GUTTER.left) / 90) / 1e6
  const step = (STEPS.find((one) => one >= wanted) ?? STEPS.at(-1)!) * 1e6
  const ticks: { time: number; label: string }[] = []
  const shift = offsetOf(range.from)
  const first = Math.ceil((range.from + shift) / step) * step - shift
  for (let time = first; time <= range.to; time += step) {
    const text = new Date((time + shift) / 1000).toISOString()
    const label = step >= 86_400e6 ? text.slice(5, 10) : text.slice(11, step < 60e6 ? 19 : 16)
    ticks.push({ time, label })
  }
  return ticks
}
