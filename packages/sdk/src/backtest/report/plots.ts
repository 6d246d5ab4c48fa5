import {
  area,
  bar,
  createActiveClock,
  createFrame,
  drawing,
  escapeHtml,
  polyline,
  shortNumber,
  stepped,
  type ActiveClock,
  type Frame,
} from './svg.ts'
import { EVIDENCE_CLASSES } from '../order.ts'
import { PRICE_ONE } from '../money.ts'
import type { Report } from './report-shape.ts'

/** A plot with its heading and an explanation. */
export type Plot = { readonly title: string; readonly about: string; readonly svg: string }

/** All plots of a report; one without data says so. */
export function plotsOf(report: Report): Plot[] {
  const clock = createActiveClock(report)
  return [
    equityPlot(report, clock),
    drawdownPlot(report, clock),
    marketsPlot(report),
    evidencePlot(report),
    fillsPlot(report, clock),
    calibrationPlot(report),
    markoutPlot(report),
    comparisonPlot(report),
  ]
}

const MONEY = 1e8

function equityPlot(report: Report, clock: ActiveClock): Plot {
  const start = Number(report.headline.start)
  const points = report.equity.map(
    ([at, equity]) => [clock.place(at), equity / MONEY - start] as const,
  )
  const capital = report.equity.map(([at, , bound]) => [clock.place(at), bound / MONEY] as const)
  const frame = overTime(clock, [...points, ...capital, [0, 0]])
  const body =
    gapShades(report, frame, clock) +
    polyline(frame, stepped(capital), 'line second') +
    polyline(frame, stepped(points), 'line first')
  return {
    title: 'Result and bound capital',
    about:
      'Cash and positions at the price they could be sold for, less the start (solid); capital in positions and orders (dashed). Shaded: not recorded. Long quiet stretches are cut out.',
    svg: timed(frame, clock, body, 'Result and bound capital over time'),
  }
}

function drawdownPlot(report: Report, clock: ActiveClock): Plot {
  let peak = -Infinity
  const points = report.equity.map(([at, equity]) => {
    peak = Math.max(peak, equity)
    return [clock.place(at), (equity - peak) / MONEY] as const
  })
  const frame = overTime(clock, [...points, [0, 0]])
  return {
    title: 'Drawdown',
    about:
      'How far the result was below its highest point, in money, because a percentage of a small peak means little.',
    svg: timed(
      frame,
      clock,
      gapShades(report, frame, clock) + area(frame, stepped(points), 0, 'area loss'),
      'Drawdown over time',
    ),
  }
}

function marketsPlot({ markets }: Report): Plot {
  const traded = markets
    .filter(({ fills }) => fills > 0)
    .toSorted((left, right) => Math.abs(Number(right.pnl)) - Math.abs(Number(left.pnl)))
    .slice(0, 40)
    .toSorted((left, right) => Number(right.pnl) - Number(left.pnl))
  const title = 'Result by market'
  const about = 'The forty largest results, best first; hover for the name.'
  if (traded.length === 0) return empty(title, about, 'No market was traded.')
  const values = traded.map(({ pnl }) => Number(pnl))
  const frame = createFrame(
    [-0.5, traded.length - 0.5],
    [Math.min(0, ...values), Math.max(0, ...values)],
  )
  const wide = Math.min(48, (frame.width - 80) / traded.length - 2)
  const bars = traded.map(({ market, pnl, fills }, index) =>
    bar(
      frame,
      index,
      0,
      Number(pnl),
      Math.max(2, wide),
      tone(Number(pnl)),
      `${market}: ${pnl} in ${fills} fills`,
    ),
  )
  return {
    title,
    about,
    svg: drawing(frame, bars.join(''), { xTicks: [], yFormat: shortNumber, name: title }),
  }
}

function evidencePlot({ evidence, gaps }: Report): Plot {
  const classes: (readonly [string, { readonly fills: number; readonly pnl: string }])[] = [
    ...EVIDENCE_CLASSES.map((name) => [name, evidence[name]] as const),
    ['near a gap', gaps.near],
  ]
  const values = classes.map(([, { pnl }]) => Number(pnl))
  const frame = createFrame(
    [-0.5, classes.length - 0.5],
    [Math.min(0, ...values), Math.max(0, ...values)],
    760,
    285,
  )
  const bars = classes.map(([name, { pnl, fills }], index) =>
    bar(frame, index, 0, Number(pnl), 54, tone(Number(pnl)), `${name}: ${pnl} in ${fills} fills`),
  )
  return {
    title: 'Result by evidence',
    about:
      'The evidence for the fills. The last bar counts fills near a gap again, whatever their class.',
    svg: drawing(frame, bars.join(''), {
      xTicks: classes.map(([name, { fills }], index) => [
        index,
        `${name.replaceAll('_', ' ')} (${fills})`,
      ]),
      yFormat: shortNumber,
      name: 'Result by evidence',
    }),
  }
}

function fillsPlot(report: Report, clock: ActiveClock): Plot {
  const title = 'Fills'
  const about =
    'Price by time: bought (up) and sold (down); filled shapes are taker fills, open ones maker fills. At most 3,000 are drawn.'
  const { fills_kept: fills } = report
  if (fills.length === 0) return empty(title, about, 'Nothing was filled.')
  const every = Math.ceil(fills.length / 3000)
  const shown = fills.filter((_, index) => index % every === 0)
  const frame = createFrame([0, clock.length], [0, 1])
  const marks = shown.map(({ at, price, side, liquidity, market, size, evidence }) => {
    const x = Math.round(frame.x(clock.place(at)) * 10) / 10
    const y = Math.round(frame.y(price / PRICE_ONE) * 10) / 10
    const shape = side === 'buy' ? `M${x} ${y - 4}l4 7h-8z` : `M${x} ${y + 4}l4-7h-8z`
    const name = `${side} ${size} at ${price / PRICE_ONE} of ${market}, ${liquidity}, ${evidence}`
    return `<path class="${side} ${liquidity}" d="${shape}"><title>${escapeHtml(name)}</title></path>`
  })
  return {
    title,
    about,
    svg: timed(frame, clock, gapShades(report, frame, clock) + marks.join(''), title),
  }
}

function calibrationPlot({ calibration }: Report): Plot {
  const title = 'Calibration'
  const about =
    'Prices paid (circles) and forecasts (squares) against how often they came true; the line is perfect calibration. Settled markets only.'
  const frame = createFrame([0, 1], [0, 1])
  const point = (
    shape: 'circle' | 'square',
    each: Report['calibration']['entries'][number],
  ): string => {
    if (each.mean_chance === null || each.happened === null) return ''
    const x = frame.x(each.mean_chance)
    const y = frame.y(each.happened)
    const name = `<title>chance ${each.mean_chance}, happened ${each.happened}, weight ${each.weight}</title>`
    return shape === 'circle'
      ? `<circle class="dot" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="5">${name}</circle>`
      : `<rect class="dot second" x="${(x - 4).toFixed(1)}" y="${(y - 4).toFixed(1)}" width="8" height="8">${name}</rect>`
  }
  const body =
    polyline(
      frame,
      [
        [0, 0],
        [1, 1],
      ],
      'line rule',
    ) +
    calibration.entries.map((each) => point('circle', each)).join('') +
    calibration.forecasts.map((each) => point('square', each)).join('')
  return {
    title,
    about,
    svg: drawing(frame, body, {
      xTicks: [0, 0.2, 0.4, 0.6, 0.8, 1].map((value) => [value, String(value)]),
      yFormat: shortNumber,
      name: title,
    }),
  }
}

function markoutPlot({ markouts }: Report): Plot {
  const title = 'Markouts'
  const about =
    'How the mid moved after a fill, in ten-thousandths per share; below zero it moved against the fill.'
  const values = markouts.flatMap(({ taker, maker }) => [taker ?? 0, maker ?? 0])
  const frame = createFrame(
    [-0.5, markouts.length - 0.5],
    [Math.min(0, ...values), Math.max(0, ...values)],
  )
  const bars = markouts.flatMap(({ seconds, taker, maker }, index) => [
    taker === null
      ? ''
      : bar(frame, index - 0.14, 0, taker, 42, 'solid first', `taker: ${taker} after ${seconds} s`),
    maker === null
      ? ''
      : bar(
          frame,
          index + 0.14,
          0,
          maker,
          42,
          'solid second',
          `maker: ${maker} after ${seconds} s`,
        ),
  ])
  return {
    title,
    about: `${about} Left: taker fills, right: maker fills.`,
    svg: drawing(frame, bars.join(''), {
      xTicks: markouts.map(({ seconds, fills }, index) => [index, `${seconds} s (${fills})`]),
      yFormat: shortNumber,
      name: title,
    }),
  }
}

function comparisonPlot({ headline, bracket, confidence, baselines }: Report): Plot {
  const rows: {
    readonly name: string
    readonly low: number
    readonly mid: number
    readonly high: number
  }[] = []
  const pnl = Number(headline.pnl)
  const { low, high, is_small: isSmall } = confidence
  rows.push({
    name: isSmall ? 'result' : 'result ± 95 %',
    low: isSmall ? pnl : (low ?? pnl),
    mid: pnl,
    high: isSmall ? pnl : (high ?? pnl),
  })
  if (bracket !== null) {
    rows.push({
      name: 'queue models',
      low: Number(bracket.smallest),
      mid: Number(bracket.proportional),
      high: Number(bracket.largest),
    })
  }
  for (const { name, pnl: value } of baselines) {
    rows.push({ name: name.replaceAll('_', ' '), low: value, mid: value, high: value })
  }
  const values = rows.flatMap(({ low, high }) => [low, high, 0])
  const frame = createFrame([-0.5, rows.length - 0.5], [Math.min(...values), Math.max(...values)])
  const body = rows.map(({ name, low, mid, high }, index) => {
    const x = frame.x(index).toFixed(1)
    const title = `<title>${escapeHtml(`${name}: ${low} … ${mid} … ${high}`)}</title>`
    return (
      `<line class="span" x1="${x}" x2="${x}" y1="${frame.y(low).toFixed(1)}" y2="${frame.y(high).toFixed(1)}"/>` +
      `<circle class="dot" cx="${x}" cy="${frame.y(mid).toFixed(1)}" r="5">${title}</circle>`
    )
  })
  const zero = polyline(
    frame,
    [
      [-0.5, 0],
      [rows.length - 0.5, 0],
    ],
    'line rule',
  )
  return {
    title: 'Confidence and comparison',
    about:
      'The result with its bootstrap band, the three queue models from the smallest result to the largest (guesses, not bounds; the dot is the proportional one), and trivial rules (one share per market).',
    svg: drawing(frame, zero + body.join(''), {
      xTicks: rows.map(({ name }, index) => [index, name]),
      yFormat: shortNumber,
      name: 'Confidence, queue models and baselines',
    }),
  }
}

function overTime(clock: ActiveClock, points: readonly (readonly [number, number])[]): Frame {
  const values = points.map(([, value]) => value)
  let low = Infinity
  let high = -Infinity
  for (const value of values) {
    low = Math.min(low, value)
    high = Math.max(high, value)
  }
  const room = (high - low) * 0.06
  return createFrame([0, clock.length], [low - room, high + room])
}

function timed(frame: Frame, clock: ActiveClock, body: string, name: string): string {
  return drawing(frame, body, { xTicks: clock.ticks, yFormat: shortNumber, name })
}

function gapShades({ gaps }: Report, frame: Frame, clock: ActiveClock): string {
  return gaps.spans
    .map(({ market, reason, start, end }) => {
      const x0 = frame.x(clock.place(start))
      const x1 = end === null ? frame.x(clock.length) : frame.x(clock.place(end))
      const title = `<title>${escapeHtml(`${market}: ${reason}`)}</title>`
      return `<rect class="gap" x="${x0.toFixed(1)}" y="12" width="${Math.max(1.5, x1 - x0).toFixed(1)}" height="${frame.height - 42}">${title}</rect>`
    })
    .join('')
}

function tone(value: number): string {
  return value < 0 ? 'solid loss' : 'solid gain'
}

function empty(title: string, about: string, text: string): Plot {
  const svg = `<svg viewBox="0 0 640 240" role="img" aria-label="${escapeHtml(title)}"><text class="none" x="320" y="124" text-anchor="middle">${escapeHtml(text)}</text></svg>`
  return { title, about, svg }
}
