import { effect } from '@preact/signals'
import { useCallback, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { showClock } from '../app/show.ts'
import { paint } from '../app/theme.ts'
import { groupDigits, printDecimal } from '../model/decimal.ts'
import { gapAt } from '../model/gap.ts'
import { priceRange, toReferenceLine, type ReferenceLine } from '../model/reference-line.ts'
import { microsOf } from '../model/time.ts'
import type { ReferenceData } from '../session/reference-feed.ts'
import { AXIS, timeAxis, valueAxis } from './axes.ts'
import { Cursor, type Stage } from './cursor.tsx'
import { hatchGaps, lineSeries, plotFrame, type LineStyle } from './plot.ts'
import './reference.css'

/** The reference price of one feed over time, with the strike and hatched gaps. */
export function ReferenceChart(props: {
  readonly store: Stage
  readonly data: ReferenceData | undefined
  readonly unit: string
  readonly strike?: number | undefined
  readonly width: number
  readonly height: number
  readonly label: string
}) {
  const { store, data, strike, unit, width, height, label } = props
  const { view } = store
  const host = useRef<HTMLDivElement>(null)
  const palette = paint.value
  const line = useMemo(
    () =>
      data === undefined
        ? undefined
        : toReferenceLine(data.rows, data.gaps, data.query.range, strike),
    [data, strike],
  )
  useLayoutEffect(() => {
    if (host.current === null || width === 0 || data === undefined || line === undefined) {
      return undefined
    }
    const options = optionsOf(store, data, line, width, height)
    const plot = new uPlot(options, [...line], host.current)
    const stop = effect(() => {
      const { from, to } = view.range.value ?? data.query.range
      plot.setScale('x', { min: from / 1e6, max: to / 1e6 })
    })
    return () => {
      stop()
      plot.destroy()
    }
  }, [width, height, palette, line])
  const values = useCallback(
    (time: number) => [showClock(time), priceAt(data, time, unit)].join(' · '),
    [data, unit],
  )
  const missing = data?.gaps.length ?? 0
  const gaps = missing === 0 ? 'no gaps' : missing === 1 ? '1 gap' : `${missing} gaps`
  const isEmpty = data === undefined || data.rows.length === 0
  return (
    <>
      {!isEmpty && (
        <div
          class="reference-chart"
          ref={host}
          role="img"
          aria-label={`${label}, ${data.rows.length} prices, ${gaps}`}
          style={{ minHeight: `${height}px` }}
        />
      )}
      <Cursor store={store} width={width} height={height - AXIS} values={values} />
    </>
  )
}

// The price at the instant of the crosshair, with every digit.
function priceAt(data: ReferenceData | undefined, time: number, unit: string): string {
  if (data === undefined) return '–'
  const { rows, gaps, step, query } = data
  const gap = gapAt(gaps, time)
  if (gap !== undefined) return gap.reason.replaceAll('_', ' ')
  // Another chart may have finer buckets for a moment: in the middle of a bucket nothing is certain.
  if ((time + 1) % step !== 0 && time < query.range.to) return '…'
  const row = rows.findLast((one) => microsOf(one.received_time) <= time)
  return row === undefined ? '–' : `${groupDigits(printDecimal(row.price))} ${unit}`
}

function optionsOf(
  { view }: Stage,
  { query, gaps }: ReferenceData,
  [, prices, strikes]: ReferenceLine,
  width: number,
  height: number,
): uPlot.Options {
  const range = priceRange([...prices, ...strikes])
  return {
    ...plotFrame(width, height),
    scales: { x: { time: true, auto: false }, y: { range } },
    axes: [timeAxis(), { ...valueAxis(), values: (_plot, splits) => splits.map(shortPrice) }],
    series: [{}, lineSeries(PRICE), lineSeries(STRIKE)],
    hooks: {
      drawClear: [(plot) => hatchGaps(plot, gaps, view.range.peek() ?? query.range, width)],
    },
  }
}

const PRICE: LineStyle = { label: 'Reference price', stroke: 'sample-1', width: 1.5 }
const STRIKE: LineStyle = {
  label: 'Strike',
  stroke: 'ink',
  width: 1,
  dash: [5, 4],
  isStepped: false,
}

// The margin has space for seven characters.
function shortPrice(value: number): string {
  return Number(value.toPrecision(7)).toString().slice(0, 7)
}
