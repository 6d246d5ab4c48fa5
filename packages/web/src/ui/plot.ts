import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { zone } from '../app/show.ts'
import { colour } from '../app/theme.ts'
import type { GapSpan } from '../model/gap.ts'
import { drawGaps, GUTTER } from './stage.ts'

/** One line of a chart; its colour is a name of the style sheet. */
export type LineStyle = {
  readonly label: string
  readonly stroke: string
  readonly dash?: readonly number[]
  readonly width?: number
  readonly isStepped?: boolean
}

/** What all charts over time have in common: the margins of the heatmap, one clock, and no legend of their own. */
export function plotFrame(width: number, height: number) {
  return {
    width,
    height,
    padding: [6, GUTTER.right, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    tzDate: (time) => {
      const date = new Date(time * 1000)
      return zone.peek() === 'utc' ? uPlot.tzDate(date, 'Etc/UTC') : date
    },
  } satisfies Partial<uPlot.Options>
}

/** A line that ends where a value is missing. */
export function lineSeries(style: LineStyle): uPlot.Series {
  const { label, stroke, dash, width = 1.25, isStepped = true } = style
  return {
    label,
    stroke: colour(stroke),
    width,
    spanGaps: false,
    points: { show: false },
    // One pixel more: the riser of a stepped line at the end of a gap would shine through.
    gaps: (_plot, _series, _from, _to, gaps) => gaps.map(([left, right]) => [left, right + 1]),
    ...(isStepped ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
    ...(dash === undefined ? {} : { dash: [...dash] }),
  }
}

/** Hatches the gaps of a range behind the lines. */
export function hatchGaps(
  plot: uPlot,
  gaps: readonly GapSpan[],
  range: { readonly from: number; readonly to: number },
  width: number,
): void {
  const ratio = devicePixelRatio
  const { top, height } = plot.bbox
  drawGaps(plot.ctx, gaps, range, { width, top: top / ratio, height: height / ratio, ratio })
}
