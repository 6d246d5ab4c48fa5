import uPlot from 'uplot'
import { offsetOf, showAxis } from '../app/show.ts'
import { colour } from '../app/theme.ts'
import { stepPlaces } from '../model/decimal.ts'
import { GUTTER } from './stage.ts'

/** The height of the axis of time, in pixels. */
export const AXIS = 22

// A label that begins closer to the right edge, in pixels, would be cut.
const EDGE = 40

// The height of a label, in pixels.
const LABEL = 12

/** The axis of time, by the visitor's clock. */
export function timeAxis(): uPlot.Axis {
  return {
    stroke: colour('soft'),
    font: `11px ${colour('font')}`,
    grid: { show: false },
    ticks: { show: false },
    size: AXIS,
    gap: 4,
    space: 90,
    values: (plot, splits, _axis, _space, step) =>
      splits.map((time) => {
        // A label that would be cut at the edge is left out.
        const { min = 0, max = 0 } = plot.scales['x']!
        if (((max - time) / (max - min)) * plot.width < EDGE) return ''
        const text = new Date(time * 1000 + offsetOf(time * 1e6) / 1000).toISOString()
        return step >= 86_400 ? text.slice(5, 10) : text.slice(11, step < 60 ? 19 : 16)
      }),
  }
}

/** The axis of prices. */
export function valueAxis(): uPlot.Axis {
  return {
    stroke: colour('soft'),
    font: `11px ${colour('font')}`,
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
    size: GUTTER.left,
    gap: 6,
    space: 28,
    values: (plot, splits, _axis, _space, step) =>
      splits.map((value) => {
        // A label at the lower edge would stand in those of the time.
        const { min = 0, max = 0 } = plot.scales['y']!
        const height = plot.height - AXIS
        if (((value - min) / (max - min)) * height < LABEL / 2) return ''
        return showAxis(value, stepPlaces(step))
      }),
  }
}

/** The range of prices: between 0 and 1, and a flat line also gets a margin. */
export function padded(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1]
  const margin = Math.max(0.004, (high - low) * 0.08)
  return [Math.max(0, low - margin), Math.min(1, high + margin)]
}
