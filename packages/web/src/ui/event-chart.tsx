import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { paint } from '../app/theme.ts'
import { outcomeName } from '../model/event-lines.ts'
import type { EventLines } from '../session/event-session.ts'
import { padded, timeAxis, valueAxis } from './axes.ts'
import { lineSeries, plotFrame } from './plot.ts'
import { useWidth } from './use-size.ts'

const HEIGHT = 260
// Six colours; the second six lines are dashed, so that all can be told apart.
const COLOURS = 6

/** The price of every drawn outcome over time. */
export function EventChart({ lines }: { readonly lines: EventLines }) {
  const { ref, width } = useWidth()
  const host = useRef<HTMLDivElement>(null)
  const palette = paint.value
  useEffect(() => {
    if (host.current === null || width === 0) return undefined
    const plot = new uPlot(optionsOf(lines, width), lines.data, host.current)
    plot.setScale('x', { min: lines.range.from / 1e6, max: lines.range.to / 1e6 })
    return () => plot.destroy()
  }, [width, palette, lines])
  const names = lines.markets.map(outcomeName).join(', ')
  return (
    <div class="chart event-chart" ref={ref}>
      <div ref={host} role="img" aria-label={`Prices over time of ${names}`} />
    </div>
  )
}

/** The line of an outcome in the chart, for the table beside it. */
export function LineKey({ index }: { readonly index: number }) {
  const { stroke, isDashed } = styleOf(index)
  return (
    <i class={`line-key ${stroke}${isDashed ? ' dashed' : ''}`} aria-hidden="true" title="drawn" />
  )
}

function styleOf(index: number): { readonly stroke: string; readonly isDashed: boolean } {
  return { stroke: `line-${(index % COLOURS) + 1}`, isDashed: index >= COLOURS }
}

function optionsOf({ markets }: EventLines, width: number): uPlot.Options {
  return {
    ...plotFrame(width, HEIGHT),
    scales: {
      x: { time: true, auto: false },
      y: { range: (_plot, low, high) => padded(low, high) },
    },
    axes: [timeAxis(), valueAxis()],
    series: [
      {},
      ...markets.map((market, index) => {
        const { stroke, isDashed } = styleOf(index)
        const dash = isDashed ? { dash: [5, 3] } : {}
        return lineSeries({ label: outcomeName(market), stroke, width: 1.5, ...dash })
      }),
    ],
  }
}
