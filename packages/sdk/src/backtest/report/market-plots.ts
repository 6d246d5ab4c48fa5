import { printMicros, printScaled, VENUES, type Micros } from '../../domain/index.ts'
import { PRICE_ONE, printShownPrice } from '../money.ts'
import type { FillView } from '../order.ts'
import type { PricePoint } from '../price-curve.ts'
import type { Plot } from './plots.ts'
import type { Report } from './report-shape.ts'
import { marketPaths, type MarketPath } from './round-trips.ts'
import {
  createFrame,
  drawing,
  escapeHtml,
  polyline,
  shortNumber,
  stepped,
  type Frame,
} from './svg.ts'

// Max markets that are drawn, those with the largest results, and max fills drawn in one.
const DRAWN_MARKETS = 30
const DRAWN_FILLS = 600
const PRICE_HEIGHT = 220
const POSITION_HEIGHT = 170

/** One market: its prices with fills and gaps above, the position below, on one time axis. */
export type MarketPlot = Plot & { readonly market: string; readonly positionSvg: string }

/** The plots of traded markets; `explorer` is the address that fills link to. */
export function marketPlots(report: Report, explorer: string | undefined): MarketPlot[] {
  const paths = new Map(
    marketPaths(report.fills_kept, report.settlements).map((path) => [path.market, path]),
  )
  const prices = new Map(report.prices.map(({ market, points }) => [market, points]))
  return report.markets
    .filter(({ market }) => paths.has(market) && (prices.get(market)?.length ?? 0) > 0)
    .toSorted((left, right) => Math.abs(Number(right.pnl)) - Math.abs(Number(left.pnl)))
    .slice(0, DRAWN_MARKETS)
    .map(({ market, title, pnl, fills }) => {
      const own = report.fills_kept.filter((fill) => fill.market === market)
      const points = prices.get(market)!
      const path = paths.get(market)!
      const gaps = report.gaps.spans.filter((gap) => gap.market === market)
      const span = spanOf(points, path)
      return {
        market,
        title: title ?? market,
        about: `${market}: ${pnl} in ${fills} fills. Bid and ask of the first outcome; bought (up) and sold (down), of the first outcome too.`,
        svg: pricePlot({ market, points, fills: own, gaps, span, explorer }),
        positionSvg: positionPlot(path, gaps, span),
      }
    })
}

/** The address of an instant of a market in the explorer. */
export function instantLink(explorer: string, market: string, at: number): string {
  const cut = market.indexOf(':')
  const id = encodeURIComponent(market.slice(cut + 1))
  const time = printMicros(Math.round(at) as Micros)
  return `${explorer.replace(/\/+$/, '')}/market/${market.slice(0, cut)}/${id}?t=${time}`
}

type Span = readonly [from: number, to: number]
type Gaps = Report['gaps']['spans']

function spanOf(points: readonly PricePoint[], { steps }: MarketPath): Span {
  const from = Math.min(points[0]![0], steps[0]!.at)
  return [from, Math.max(points.at(-1)![0], steps.at(-1)!.at)]
}

function pricePlot(props: {
  readonly market: string
  readonly points: readonly PricePoint[]
  readonly fills: readonly FillView[]
  readonly gaps: Gaps
  readonly span: Span
  readonly explorer: string | undefined
}): string {
  const { market, points, fills, gaps, span, explorer } = props
  const shown = points.flatMap(([, bid, ask]) => [bid, ask].filter((price) => price !== null))
  const marks = fills.slice(0, DRAWN_FILLS).map((fill) => ({ fill, ...ofFirst(fill) }))
  const values = [...shown, ...marks.map(({ price }) => price)].map((price) => price / PRICE_ONE)
  const room = 0.02
  const low = Math.max(0, Math.min(1, ...values) - room)
  const high = Math.min(1, Math.max(0, ...values) + room)
  const frame = createFrame(span, [low, Math.max(high, low + 0.02)], 640, PRICE_HEIGHT)
  const side = (which: 1 | 2, name: string): string =>
    unbroken(points, gaps, which)
      .map((line) => polyline(frame, stepped(line), `line ${name}`))
      .join('')
  const body =
    hatches(gaps, frame) +
    side(1, 'bid') +
    side(2, 'ask') +
    marks.map((mark) => fillMark(frame, mark, market, explorer)).join('')
  const yFormat = (value: number): string => value.toFixed(high - low < 0.1 ? 3 : 2)
  const name = `Price and fills of ${market}`
  return drawing(frame, body, { xTicks: timeTicks(span), yFormat, name })
}

function positionPlot({ market, venue, steps }: MarketPath, gaps: Gaps, span: Span): string {
  const { sizeDecimals } = VENUES[venue]
  const points = [
    [span[0], 0] as const,
    ...steps.map(({ at, units }) => [at, Number(printScaled(units, sizeDecimals))] as const),
    [span[1], Number(printScaled(steps.at(-1)!.units, sizeDecimals))] as const,
  ]
  const values = points.map(([, value]) => value)
  const range = [Math.min(0, ...values), Math.max(0, ...values)] as const
  const frame = createFrame(span, range, 640, POSITION_HEIGHT)
  const body = hatches(gaps, frame) + polyline(frame, stepped(points), 'line first')
  const name = `Position in ${market}`
  return drawing(frame, body, { xTicks: timeTicks(span), yFormat: shortNumber, name })
}

// A fill of the second outcome is one of the first, the other way round.
function ofFirst({ outcome, side, price }: FillView): { price: number; isBuy: boolean } {
  const isBuy = (side === 'buy') === (outcome === 0)
  return { price: outcome === 0 ? price : PRICE_ONE - price, isBuy }
}

function fillMark(
  frame: Frame,
  mark: { readonly fill: FillView; readonly price: number; readonly isBuy: boolean },
  market: string,
  explorer: string | undefined,
): string {
  const { fill, isBuy } = mark
  const x = frame.x(fill.at).toFixed(1)
  const y = frame.y(mark.price / PRICE_ONE)
  const shape = isBuy
    ? `M${x} ${(y - 4).toFixed(1)}l4 7h-8z`
    : `M${x} ${(y + 4).toFixed(1)}l4-7h-8z`
  const name = `fill ${fill.id}: ${fill.side} ${fill.size} at ${printShownPrice(fill.price)}, ${fill.liquidity}, ${printMicros(fill.at as Micros)}`
  const path = `<path class="${isBuy ? 'buy' : 'sell'} ${fill.liquidity}" d="${shape}"><title>${escapeHtml(name)}</title></path>`
  if (explorer === undefined) return path
  const href = escapeHtml(instantLink(explorer, market, fill.at))
  return `<a href="${href}" aria-label="${escapeHtml(name)}">${path}</a>`
}

// Lines end where a side has no level and where a gap begins.
function unbroken(
  points: readonly PricePoint[],
  gaps: Gaps,
  which: 1 | 2,
): (readonly [number, number])[][] {
  const lines: (readonly [number, number])[][] = []
  let line: (readonly [number, number])[] = []
  const cut = (): void => {
    if (line.length > 0) lines.push(line)
    line = []
  }
  for (const [index, point] of points.entries()) {
    const [at] = point
    const before = points[index - 1]?.[0] ?? at
    const gap = gaps.find(({ start }) => start > before && start <= at)
    if (gap !== undefined) {
      const last = line.at(-1)
      if (last !== undefined) line.push([gap.start, last[1]])
      cut()
    }
    const price = point[which]
    if (price === null) cut()
    else line.push([at, price / PRICE_ONE])
  }
  cut()
  return lines
}

function hatches(gaps: Gaps, frame: Frame): string {
  const [from, to] = frame.xs
  return gaps
    .filter(({ start, end }) => start < to && (end ?? to) > from)
    .map(({ reason, start, end }) => {
      const left = frame.x(Math.max(from, start))
      const wide = Math.max(1.5, frame.x(Math.min(to, end ?? to)) - left)
      const high = frame.height - 42
      return `<g><title>${escapeHtml(reason)}</title><rect class="gap" x="${left.toFixed(1)}" y="12" width="${wide.toFixed(1)}" height="${high}"/>${diagonals(left, 12, wide, high)}</g>`
    })
    .join('')
}

// Lines from the lower left to the upper right, cut at the edges: patterns would need an address.
function diagonals(left: number, top: number, wide: number, high: number): string {
  let path = ''
  for (let offset = -high; offset < wide; offset += 8) {
    const from = Math.max(0, offset)
    const to = Math.min(wide, offset + high)
    const y = (x: number): string => (top + high - (x - offset)).toFixed(1)
    path += `M${(left + from).toFixed(1)} ${y(from)}L${(left + to).toFixed(1)} ${y(to)}`
  }
  return `<path class="hatch" d="${path}"/>`
}

function timeTicks([from, to]: Span): (readonly [number, string])[] {
  const isShort = to - from < 3_600_000_000 * 6
  return [0.1, 0.3, 0.5, 0.7, 0.9].map((part) => {
    const at = from + (to - from) * part
    const text = new Date(at / 1000).toISOString()
    return [at, isShort ? text.slice(11, 19) : text.slice(5, 16).replace('T', ' ')]
  })
}
