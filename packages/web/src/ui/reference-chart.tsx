import { useEffect, useMemo, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { paint } from '../app/theme.ts'
import { priceRange, toReferenceLine, type ReferenceLine } from '../model/reference-line.ts'
import type { ReferenceData } from '../session/reference-feed.ts'
import { timeAxis, valueAxis } from './axes.ts'
import { hatchGaps, lineSeries, plotFrame, type LineStyle } from './plot.ts'
import './reference.css'

/** The reference price of one feed over time, with the strike and hatched gaps. */
export function ReferenceChart(props: {
  readonly data: ReferenceData
  readonly strike?: number | undefined
  readonly width: number
  readonly height: number
  readonly label: string
}) {
  const { data, strike, width, height, label } = props
  const host = useRef<HTMLDivElement>(null)
  const palette = paint.value
  const line = useMemo(
    () => toReferenceLine(data.rows, data.gaps, data.query.range, strike),
    [data, strike],
  )
  useEffect(() => {
    if (host.current === null || width === 0) return undefined
    const plot = new uPlot(optionsOf(data, line, width, height), [...line], host.current)
    const { from, to } = data.query.range
    plot.setScale('x', { min: from / 1e6, max: to / 1e6 })
    return () => plot.destroy()
  }, [width, height, palette, line])
  const missing = data.gaps.length
  const gaps = missing === 0 ? 'no gaps' : missing === 1 ? '1 gap' : `${missing} gaps`
  return (
    <div
      class="reference-chart"
      ref={host}
      role="img"
      aria-label={`${label}, ${data.rows.length} prices, ${gaps}`}
      style={{ minHeight: `${height}px` }}
    />
  )
}

function optionsOf(
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
    hooks: { drawClear: [(plot) => hatchGaps(plot, gaps, query.range, width)] },
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
