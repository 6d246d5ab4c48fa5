import { useSignalEffect, type ReadonlySignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { colour, paint } from '../app/theme.ts'
import type { TimeStore } from '../session/time-store.ts'
import { AXIS, padded, timeAxis, valueAxis } from './axes.ts'
import { Cursor } from './cursor.tsx'
import { hatchGaps, lineSeries, plotFrame, type LineStyle } from './plot.ts'
import { useWidth } from './use-size.ts'

/** Lines over time with the market's gaps behind them, on the same margins as the heatmap. */
export function LineChart(props: {
  readonly store: TimeStore
  readonly data: ReadonlySignal<uPlot.AlignedData>
  readonly lines: readonly LineStyle[]
  /** Two lines between which the area is filled. */
  readonly band?: readonly [number, number]
  /** The same for more pairs, each with its own colour. */
  readonly bands?: readonly {
    readonly series: readonly [number, number]
    readonly fill: string
  }[]
  /** Draws behind the lines. */
  readonly behind?: (plot: uPlot, width: number) => void
  readonly height: number
  readonly label: string
  /** What it shows at the instant of the crosshair. */
  readonly values?: (time: number) => string
}) {
  const { store, data, lines, band, height, values } = props
  const { ref, width } = useWidth()
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const palette = paint.value

  useLayoutEffect(() => {
    if (host.current === null || width === 0) return undefined
    const made = new uPlot(optionsOf(props, width), data.peek(), host.current)
    plot.current = made
    applyRange(made, store)
    return () => {
      plot.current = undefined
      made.destroy()
    }
  }, [width, height, palette, lines.length, band !== undefined])

  useSignalEffect(() => {
    const next = data.value
    void store.range.value
    void store.gaps.value
    const { current } = plot
    if (current === undefined) return
    current.batch(() => {
      current.setData(next, false)
      applyRange(current, store)
    })
  })

  return (
    <div class="chart" ref={ref}>
      <div ref={host} role="img" aria-label={props.label} />
      <Cursor store={store} width={width} height={height - AXIS} values={values} />
    </div>
  )
}

function applyRange(plot: uPlot, store: TimeStore): void {
  const range = store.range.peek()
  if (range === undefined) return
  plot.setScale('x', { min: range.from / 1e6, max: range.to / 1e6 })
}

function optionsOf(props: Parameters<typeof LineChart>[0], width: number): uPlot.Options {
  const { store, lines, band, bands = [], height } = props
  return {
    ...plotFrame(width, height),
    scales: {
      x: { time: true, auto: false },
      y: { range: (_plot, low, high) => padded(low, high) },
    },
    axes: [timeAxis(), valueAxis()],
    series: [{}, ...lines.map(lineSeries)],
    bands: [...(band === undefined ? [] : [{ series: band, fill: 'band' }]), ...bands].map(
      ({ series: [upper, lower], fill }) => ({ series: [upper, lower], fill: colour(fill) }),
    ),
    hooks: {
      drawClear: [
        (plot) => {
          const range = store.range.peek()
          if (range === undefined) return
          hatchGaps(plot, store.gaps.peek(), range, width)
          props.behind?.(plot, width)
        },
      ],
    },
  }
}
