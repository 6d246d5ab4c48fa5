import { effect } from '@preact/signals'
import { useCallback, useLayoutEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { showClock, showPrice } from '../app/show.ts'
import { paint } from '../app/theme.ts'
import { middleAt, outcomeName } from '../model/event-lines.ts'
import type { ChartView } from '../session/chart-view.ts'
import type { EventLines } from '../session/event-session.ts'
import { AXIS, padded, timeAxis, valueAxis } from './axes.ts'
import { Cursor } from './cursor.tsx'
import { lineSeries, plotFrame } from './plot.ts'
import { useWidth } from './use-size.ts'

const HEIGHT = 260
// Six colours; the second six lines are dashed, so that all can be told apart.
const COLOURS = 6

/** The price of every drawn outcome over time. */
export function EventChart(props: { readonly lines: EventLines; readonly view: ChartView }) {
  const { lines, view } = props
  const { ref, width } = useWidth()
  const host = useRef<HTMLDivElement>(null)
  const palette = paint.value
  useLayoutEffect(() => {
    if (host.current === null || width === 0) return undefined
    const plot = new uPlot(optionsOf(lines, width), lines.data, host.current)
    const stop = effect(() => {
      const { from, to } = view.range.value ?? { from: 0, to: 1 }
      plot.setScale('x', { min: from / 1e6, max: to / 1e6 })
    })
    return () => {
      stop()
      plot.destroy()
    }
  }, [width, palette, lines])
  const values = useCallback(
    (time: number) => {
      const prices = lines.markets.map(
        (market, index) =>
          `${outcomeName(market)} ${showPrice(middleAt(lines.books[index]!, time))}`,
      )
      return [showClock(time), ...prices].join('\n')
    },
    [lines],
  )
  const names = lines.markets.map(outcomeName).join(', ')
  return (
    <div class="chart event-chart" ref={ref}>
      <div ref={host} role="img" aria-label={`Prices over time of ${names}`} />
      <Cursor store={{ view }} width={width} height={HEIGHT - AXIS} values={values} />
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
