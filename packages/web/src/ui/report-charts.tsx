import { useLayoutEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { colour, paint } from '../app/theme.ts'
import { ofFirstOutcome, type ReportFill, type ReportMarket } from '../model/report-view.ts'
import { padded, timeAxis, valueAxis } from './axes.ts'
import { hatchGaps, lineSeries, plotFrame } from './plot.ts'
import { fromX } from './stage.ts'
import { useWidth } from './use-size.ts'

// Max fills drawn in one chart; the list has all of them.
const DRAWN_FILLS = 3000
const MARK = 4.5

/** Price, position and queue of one market of a report, on one time axis with its gaps hatched. */
export function ReportCharts(props: {
  readonly market: ReportMarket
  readonly selected: ReportFill | undefined
  readonly onPick: (fill: ReportFill) => void
}) {
  const { market, selected, onPick } = props
  const { prices, position, queue, fills } = market
  return (
    <>
      <Chart
        {...props}
        height={280}
        label={`Bid and ask of ${market.market} with ${fills.length} fills`}
        data={[[...prices.times], [...prices.bids], [...prices.asks]]}
        options={{
          scales: { y: { range: (_plot, low, high) => pricesRange(market, low, high) } },
          axes: [timeAxis(), valueAxis()],
          series: [
            {},
            lineSeries({ label: 'bid', stroke: 'bid-line' }),
            lineSeries({ label: 'ask', stroke: 'ask-line' }),
          ],
        }}
        draw={(plot) => drawFills(plot, fills, selected)}
        onPick={onPick}
      />
      <h3 class="chart-name">Position: first outcome less second</h3>
      <Chart
        {...props}
        height={120}
        label={`Position in ${market.market}`}
        data={[[...position.times], [...position.values]]}
        options={{
          scales: { y: { range: (_plot, low, high) => roomy(low, high) } },
          axes: [timeAxis(), amountAxis()],
          series: [{}, lineSeries({ label: 'position', stroke: 'line-1', width: 1.5 })],
        }}
        draw={(plot) => drawInstant(plot, selected)}
      />
      {queue.length > 0 && (
        <>
          <h3 class="chart-name">Size ahead of resting orders, as the queue model assumes</h3>
          <Chart
            {...props}
            height={130}
            label={`Queue ahead of ${queue.length} orders`}
            data={queueData(market)}
            options={{
              scales: { y: { range: (_plot, low, high) => roomy(low, high) } },
              axes: [timeAxis(), amountAxis()],
              series: [{}, { paths: () => null, points: { show: false } }],
            }}
            draw={(plot) => {
              drawQueue(plot, market)
              drawInstant(plot, selected)
            }}
          />
        </>
      )}
    </>
  )
}

function Chart(props: {
  readonly market: ReportMarket
  readonly height: number
  readonly label: string
  readonly data: uPlot.AlignedData
  readonly options: Pick<uPlot.Options, 'axes' | 'series'> & {
    readonly scales: { readonly y: uPlot.Scale }
  }
  readonly draw: (plot: uPlot) => void
  readonly selected: ReportFill | undefined
  readonly onPick?: (fill: ReportFill) => void
}) {
  const { market, height, label, data, options, draw, selected } = props
  const { ref, width } = useWidth()
  const host = useRef<HTMLDivElement>(null)
  const palette = paint.value
  useLayoutEffect(() => {
    if (host.current === null || width === 0) return undefined
    const { range, gaps } = market
    const frame: uPlot.Options = {
      ...plotFrame(width, height),
      ...options,
      scales: { x: { time: true, auto: false }, ...options.scales },
      hooks: {
        drawClear: [(plot) => hatchGaps(plot, gaps, range, width)],
        draw: [draw],
      },
    }
    const plot = new uPlot(frame, data, host.current)
    plot.setScale('x', { min: range.from / 1e6, max: range.to / 1e6 })
    return () => plot.destroy()
  }, [width, palette, market, selected])
  const pick = (event: MouseEvent): void => {
    const { onPick } = props
    if (onPick === undefined || ref.current === null) return
    const fill = nearestFill(
      market,
      event.clientX - ref.current.getBoundingClientRect().left,
      width,
    )
    if (fill !== undefined) onPick(fill)
  }
  return (
    <div class="chart report-chart" ref={ref} onClick={pick}>
      <div ref={host} role="img" aria-label={label} />
    </div>
  )
}

// The list beside the chart offers the same to the keyboard.
function nearestFill(market: ReportMarket, x: number, width: number): ReportFill | undefined {
  const at = fromX(x, market.range, width)
  let best: ReportFill | undefined
  for (const fill of market.fills) {
    if (best === undefined || Math.abs(fill.at - at) < Math.abs(best.at - at)) best = fill
  }
  return best
}

function pricesRange(
  market: ReportMarket,
  low: number | null,
  high: number | null,
): [number, number] {
  const own = market.fills.slice(0, DRAWN_FILLS).map((fill) => ofFirstOutcome(fill).price)
  return padded(Math.min(low ?? 1, ...own), Math.max(high ?? 0, ...own))
}

function roomy(low: number | null, high: number | null): [number, number] {
  const [from, to] = [Math.min(0, low ?? 0), Math.max(0, high ?? 0)]
  const margin = Math.max(0.5, (to - from) * 0.08)
  return [from < 0 ? from - margin : 0, to + margin]
}

function amountAxis(): uPlot.Axis {
  const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 })
  return {
    ...valueAxis(),
    values: (_plot, splits) => splits.map((value) => short.format(value)),
  }
}

function drawFills(
  plot: uPlot,
  fills: readonly ReportFill[],
  selected: ReportFill | undefined,
): void {
  const { ctx } = plot
  const every = Math.ceil(fills.length / DRAWN_FILLS)
  const size = MARK * devicePixelRatio
  ctx.save()
  for (const [index, fill] of fills.entries()) {
    if (index % every !== 0 && fill !== selected) continue
    const { price, isBuy } = ofFirstOutcome(fill)
    const x = plot.valToPos(fill.at / 1e6, 'x', true)
    const y = plot.valToPos(price, 'y', true)
    const way = isBuy ? -1 : 1
    ctx.beginPath()
    ctx.moveTo(x, y + way * size)
    ctx.lineTo(x + size, y - way * size)
    ctx.lineTo(x - size, y - way * size)
    ctx.closePath()
    ctx.fillStyle = colour(isBuy ? 'bid-line' : 'ask-line')
    ctx.strokeStyle = colour('ink')
    ctx.lineWidth = devicePixelRatio
    // Open shapes are maker fills.
    if (fill.liquidity === 'taker') ctx.fill()
    ctx.stroke()
    if (fill !== selected) continue
    ctx.beginPath()
    ctx.arc(x, y, size * 2.4, 0, 2 * Math.PI)
    ctx.lineWidth = 2 * devicePixelRatio
    ctx.stroke()
  }
  ctx.restore()
  drawInstant(plot, selected)
}

function drawInstant(plot: uPlot, selected: ReportFill | undefined): void {
  if (selected === undefined) return
  const { ctx, bbox } = plot
  const x = plot.valToPos(selected.at / 1e6, 'x', true)
  ctx.save()
  ctx.strokeStyle = colour('ink')
  ctx.globalAlpha = 0.5
  ctx.lineWidth = devicePixelRatio
  ctx.beginPath()
  ctx.moveTo(x, bbox.top)
  ctx.lineTo(x, bbox.top + bbox.height)
  ctx.stroke()
  ctx.restore()
}

function drawQueue(plot: uPlot, { queue }: ReportMarket): void {
  const { ctx } = plot
  ctx.save()
  ctx.strokeStyle = colour('line-2')
  ctx.fillStyle = colour('line-2')
  ctx.lineWidth = devicePixelRatio
  for (const { times, values } of queue) {
    ctx.beginPath()
    for (const [index, time] of times.entries()) {
      const x = plot.valToPos(time, 'x', true)
      const y = plot.valToPos(values[index]!, 'y', true)
      if (index === 0) ctx.moveTo(x, y)
      else ctx.lineTo(x, y)
      ctx.fillRect(x - 2, y - 2, 4, 4)
    }
    ctx.stroke()
  }
  ctx.restore()
}

function queueData({ queue }: ReportMarket): uPlot.AlignedData {
  const rows = queue
    .flatMap(({ times, values }) => times.map((time, index) => [time, values[index]!] as const))
    .toSorted(([left], [right]) => left - right)
  return [rows.map(([time]) => time), rows.map(([, value]) => value)]
}
