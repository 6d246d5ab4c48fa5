import { useComputed, useSignalEffect } from '@preact/signals'
import type { ContractJson, SpreadJson } from '@priorbook/sdk/client'
import { VENUE_IDS, VENUES } from '@priorbook/sdk/domain'
import { useCallback, useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { showClock, showPrice } from '../app/show.ts'
import { colour, paint } from '../app/theme.ts'
import { knownSpans, toCompareLines } from '../model/compare-lines.ts'
import { roundDecimal } from '../model/exact.ts'
import { microsOf } from '../model/time.ts'
import type { CompareHistory } from '../session/compare-history.ts'
import type { Range } from '../model/range.ts'
import { Cursor } from './cursor.tsx'
import { LineChart } from './line-chart.tsx'
import type { LineStyle } from './plot.ts'
import { drawGaps, GUTTER, toX } from './stage.ts'
import { useWidth } from './use-size.ts'
import { venueLetter } from './words.tsx'

type Members = ContractJson['members']

// The line of a member: a colour of its venue, dashed where the venue has a second member.
function memberStyle(
  members: Members,
  place: number,
): { readonly colour: number; readonly isDashed: boolean } {
  const { venue } = members[place]!
  const isDashed = members.slice(0, place).some((other) => other.venue === venue)
  return { colour: (VENUE_IDS.indexOf(venue) % 6) + 1, isDashed }
}

/** The key of a member's line. */
export function MemberKey(props: { readonly members: Members; readonly place: number }) {
  const { colour: number, isDashed } = memberStyle(props.members, props.place)
  return <i class={`line-key line-${number}${isDashed ? ' dashed' : ''}`} aria-hidden="true" />
}

/** Prices of all members on one axis, with the edges behind them, and what was recorded below. */
export function CompareChart(props: {
  readonly history: CompareHistory
  readonly members: Members
  readonly lines: 'quotes' | 'middle'
  readonly height: number
}) {
  const { history, members, lines, height } = props
  const data = useComputed(() => {
    // Edges are drawn with the lines.
    void history.spans.value
    return toCompareLines(history.points.value, lines)
  })
  const styles = members.flatMap(({ venue }, place): LineStyle[] => {
    const { colour: number, isDashed } = memberStyle(members, place)
    const { label } = VENUES[venue]
    const line = { stroke: `line-${number}`, ...(isDashed ? { dash: [5, 3] } : {}) }
    if (lines === 'middle') return [{ ...line, label: `${label} middle`, width: 1.75 }]
    return ['bid', 'ask'].map((side) => ({ ...line, label: `${label} ${side}`, width: 1.25 }))
  })
  const bands =
    lines === 'middle'
      ? []
      : members.map((_, place) => ({
          series: [2 * place + 2, 2 * place + 1] as const,
          fill: `fill-${memberStyle(members, place).colour}`,
        }))
  const names = members.map(({ venue }) => VENUES[venue].label).join(', ')
  const values = useCallback(
    (time: number) => [showClock(time), ...quotesAt(history, members, time)].join('\n'),
    [history, members],
  )
  return (
    <div class="compare-chart" data-ready={history.isLoaded.value ? 'yes' : 'no'}>
      <LineChart
        key={lines}
        store={history}
        data={data}
        lines={styles}
        bands={bands}
        behind={(plot, width) => shadeEdges(plot, width, history)}
        height={height}
        values={values}
        label={`${lines === 'middle' ? 'Middle prices' : 'Best bids and asks'} of Yes over time: ${names}`}
      />
      <Lanes history={history} members={members} />
    </div>
  )
}

// Each member at the instant of the crosshair; a price that was read from text is written as it was.
function quotesAt(history: CompareHistory, members: Members, time: number): string[] {
  return members.map(({ venue }, place) => {
    const quote = history.quoteAt(place, time)
    const words =
      typeof quote === 'string' ? quote : `${showPrice(quote.bid)} / ${showPrice(quote.ask)}`
    return `${venueLetter(venue)} ${words}`
  })
}

function shadeEdges(plot: uPlot, width: number, history: CompareHistory): void {
  const range = history.range.peek()
  if (range === undefined) return
  const { ctx, bbox } = plot
  ctx.fillStyle = colour('edge-shade')
  for (const span of history.spans.peek()) {
    const place = placeOf(span, range, width)
    if (place === undefined) continue
    const ratio = devicePixelRatio
    ctx.fillRect(place.left * ratio, bbox.top, place.width * ratio, bbox.height)
  }
}

// Where a span is drawn: at least a line, however short it was.
function placeOf(span: SpreadJson, range: Range, width: number) {
  const from = Math.max(microsOf(span.start_time), range.from)
  const to = Math.min(microsOf(span.end_time), range.to)
  if (to < from) return undefined
  const left = toX(from, range, width)
  return { left, width: Math.max(1, toX(to, range, width) - left) }
}

const EDGE = 44
const LANE = 13
const SPACE = 4

/** The edge over time as bars, and a lane for each member: what was recorded, and its gaps hatched. */
function Lanes(props: { readonly history: CompareHistory; readonly members: Members }) {
  const { history, members } = props
  const { ref, width } = useWidth()
  const canvas = useRef<HTMLCanvasElement>(null)
  const height = EDGE + SPACE + members.length * (LANE + SPACE)
  const draw = (): void => {
    void paint.value
    const { value: range } = history.range
    const { value: gaps } = history.memberGaps
    const { value: points } = history.points
    const { value: spans } = history.spans
    const element = canvas.current
    if (element === null || width === 0 || range === undefined) return
    const ratio = devicePixelRatio
    element.width = Math.round(width * ratio)
    element.height = Math.round(height * ratio)
    const context = element.getContext('2d')!
    drawEdges(context, spans, range, { width, ratio })
    for (const [place, { venue }] of members.entries()) {
      const top = EDGE + SPACE + place * (LANE + SPACE)
      context.fillStyle = colour(`line-${memberStyle(members, place).colour}`)
      context.globalAlpha = 0.35
      for (const { start, end } of knownSpans(points[place] ?? [])) {
        const left = toX(Math.max(start, range.from), range, width)
        const right = toX(Math.min(end, range.to), range, width)
        if (right <= left) continue
        context.fillRect(left * ratio, top * ratio, (right - left) * ratio, LANE * ratio)
      }
      context.globalAlpha = 1
      drawGaps(context, gaps[place] ?? [], range, { width, top, height: LANE, ratio })
      label(context, venueLetter(venue), top + LANE / 2, ratio)
    }
  }
  useSignalEffect(draw)
  useEffect(draw, [width, height])
  const names = members
    .map(({ venue }, place) => {
      const count = history.memberGaps.value[place]?.length ?? 0
      return `${VENUES[venue].label} ${count} ${count === 1 ? 'gap' : 'gaps'}`
    })
    .join(', ')
  return (
    <div class="chart compare-lanes" ref={ref} style={{ height: `${height}px` }}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`Edges after fees: ${history.spans.value.length}. Recorded: ${names}.`}
        style={{ width: `${width}px`, height: `${height}px` }}
      />
      <Cursor store={history} width={width} height={height} />
    </div>
  )
}

function drawEdges(
  context: CanvasRenderingContext2D,
  spans: readonly SpreadJson[],
  range: Range,
  { width, ratio }: { readonly width: number; readonly ratio: number },
): void {
  const bottom = EDGE * ratio
  context.fillStyle = colour('line')
  context.fillRect(
    GUTTER.left * ratio,
    bottom - ratio,
    (width - GUTTER.left - GUTTER.right) * ratio,
    ratio,
  )
  const seen = spans.filter((span) => placeOf(span, range, width) !== undefined)
  const most = Math.max(0, ...seen.map((span) => Number(span.best_edge)))
  context.fillStyle = colour('edge-bar')
  for (const span of seen) {
    const place = placeOf(span, range, width)!
    // Only for the height of the bar.
    const high = Math.max(2, (Number(span.best_edge) / most) * (EDGE - 14)) * ratio
    context.fillRect(place.left * ratio, bottom - high, place.width * ratio, high)
  }
  label(context, 'edge', EDGE - 6, ratio)
  const top = seen.find((span) => Number(span.best_edge) === most)
  if (top !== undefined) label(context, roundDecimal(String(top.best_edge), 3, 'down'), 10, ratio)
}

function label(context: CanvasRenderingContext2D, text: string, y: number, ratio: number): void {
  context.fillStyle = colour('soft')
  context.font = `${11 * ratio}px ${colour('font')}`
  context.textAlign = 'right'
  context.textBaseline = 'middle'
  context.fillText(text, (GUTTER.left - 6) * ratio, y * ratio)
}
