import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { colour, paint } from '../app/theme.ts'
import { outcomeName } from '../model/event-lines.ts'
import type { EventLines } from '../session/event-session.ts'
import { padded, timeAxis, valueAxis } from './axes.ts'
import { GUTTER } from './stage.ts'
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
  const stepped = uPlot.paths.stepped!({ align: 1 })
  return {
    width,
    height: HEIGHT,
    padding: [6, GUTTER.right, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    tzDate: (time) => uPlot.tzDate(new Date(time * 1000), 'Etc/UTC'),
    scales: {
      x: { time: true, auto: false },
      y: { range: (_plot, low, high) => padded(low, high) },
    },
    axes: [timeAxis(), valueAxis()],
    series: [
      {},
      ...markets.map((market, index): uPlot.Series => {
        const { stroke, isDashed } = styleOf(index)
        return {
          label: outcomeName(market),
          stroke: colour(stroke),
          width: 1.5,
          spanGaps: false,
          points: { show: false },
          paths: stepped,
          ...(isDashed ? { dash: [5, 3] } : {}),
        }
      }),
    ],
  }
}
