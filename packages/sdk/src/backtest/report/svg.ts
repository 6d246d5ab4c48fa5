import { DAY_MICROS } from '../../domain/index.ts'
import type { Report } from './report-shape.ts'

/** The area of a plot and its scales. */
export type Frame = {
  readonly width: number
  readonly height: number
  readonly x: (value: number) => number
  readonly y: (value: number) => number
  readonly xs: readonly [number, number]
  readonly ys: readonly [number, number]
}

const LEFT = 64
const RIGHT = 16
const TOP = 12
const BOTTOM = 30

/** Creates the scales of a plot; a range without length is widened. */
export function createFrame(
  xs: readonly [number, number],
  ys: readonly [number, number],
  width = 640,
  height = 240,
): Frame {
  const [x0, x1] = widened(xs)
  const [y0, y1] = widened(ys)
  return {
    width,
    height,
    xs: [x0, x1],
    ys: [y0, y1],
    x: (value) => LEFT + ((value - x0) / (x1 - x0)) * (width - LEFT - RIGHT),
    y: (value) => height - BOTTOM - ((value - y0) / (y1 - y0)) * (height - TOP - BOTTOM),
  }
}

/** A drawing with axes around `body`. */
export function drawing(
  frame: Frame,
  body: string,
  axes: {
    readonly xTicks: readonly (readonly [value: number, text: string])[]
    readonly yFormat: (value: number) => string
    readonly name: string
  },
): string {
  const { width, height, x, y, ys } = frame
  const lines = niceTicks(ys[0], ys[1]).map(
    (value) =>
      `<line class="grid" x1="${LEFT}" x2="${width - RIGHT}" y1="${at(y(value))}" y2="${at(y(value))}"/>` +
      `<text class="tick" x="${LEFT - 8}" y="${at(y(value) + 4)}" text-anchor="end">${escapeHtml(axes.yFormat(value))}</text>`,
  )
  const marks = axes.xTicks.map(
    ([value, text]) =>
      `<text class="tick" x="${at(x(value))}" y="${height - 8}" text-anchor="middle">${escapeHtml(text)}</text>`,
  )
  // An image hides the links in it from screen readers.
  const role = body.includes('<a ') ? 'group' : 'img'
  return `<svg viewBox="0 0 ${width} ${height}" role="${role}" aria-label="${escapeHtml(axes.name)}">${lines.join('')}${body}${marks.join('')}</svg>`
}

/** A line through points. */
export function polyline(
  frame: Frame,
  points: readonly (readonly [number, number])[],
  className: string,
): string {
  const places = points.map(([px, py]) => `${at(frame.x(px))},${at(frame.y(py))}`).join(' ')
  return `<polyline class="${className}" points="${places}"/>`
}

/** Points of a value that holds until the next one. */
export function stepped(
  points: readonly (readonly [number, number])[],
): (readonly [number, number])[] {
  return points.flatMap(([at, value], index) =>
    index === 0
      ? [[at, value] as const]
      : [[at, points[index - 1]![1]] as const, [at, value] as const],
  )
}

/** The area between points and a level. */
export function area(
  frame: Frame,
  points: readonly (readonly [number, number])[],
  level: number,
  className: string,
): string {
  if (points.length === 0) return ''
  const places = points.map(([px, py]) => `${at(frame.x(px))},${at(frame.y(py))}`)
  const first = at(frame.x(points[0]![0]))
  const last = at(frame.x(points.at(-1)![0]))
  const base = at(frame.y(level))
  return `<polygon class="${className}" points="${first},${base} ${places.join(' ')} ${last},${base}"/>`
}

/** A bar from one value to another, centred on a position. */
export function bar(
  frame: Frame,
  place: number,
  from: number,
  to: number,
  wide: number,
  className: string,
  title: string,
): string {
  const top = frame.y(Math.max(from, to))
  const high = Math.max(1, Math.abs(frame.y(from) - frame.y(to)))
  return `<rect class="${className}" x="${at(frame.x(place) - wide / 2)}" y="${at(top)}" width="${at(wide)}" height="${at(high)}" rx="2"><title>${escapeHtml(title)}</title></rect>`
}

/** Round values within a range. */
export function niceTicks(from: number, to: number): number[] {
  const rough = (to - from) / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough
  const ticks: number[] = []
  for (let index = Math.ceil(from / step); index * step <= to + step * 1e-9; index++) {
    ticks.push(index * step)
  }
  return ticks
}

/** Escapes text for HTML and SVG. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

/** A number as short text. */
export function shortNumber(value: number): string {
  const size = Math.abs(value)
  if (size >= 1e6) return `${round(value / 1e6)}M`
  if (size >= 1e4) return `${round(value / 1e3)}k`
  return String(round(value))
}

function round(value: number): number {
  return Number(value.toPrecision(4))
}

function widened([from, to]: readonly [number, number]): [number, number] {
  if (to > from) return [from, to]
  const room = Math.max(1e-6, Math.abs(from) * 0.01)
  return [from - room, to + room]
}

function at(place: number): string {
  return String(Math.round(place * 10) / 10)
}

/** A time axis that cuts out long quiet stretches, so that markets on different days fit next to each other. */
export interface ActiveClock {
  readonly length: number
  /** The position of a time on the axis. */
  place(at: number): number
  readonly ticks: readonly (readonly [place: number, text: string])[]
  readonly isCut: boolean
}

// Max length of a stretch without a point of the curve or a fill, in microseconds.
const MAX_STRETCH = 120_000_000

/** Creates the time axis of a report. */
export function createActiveClock({ equity, fills_kept }: Report): ActiveClock {
  const times = [...equity.map(([at]) => at), ...fills_kept.map(({ at }) => at)].sort(
    (left, right) => left - right,
  )
  const first = times[0] ?? 0
  const last = times.at(-1) ?? 1
  const places: number[] = []
  let place = 0
  for (const [index, at] of times.entries()) {
    if (index > 0) place += Math.min(MAX_STRETCH, at - times[index - 1]!)
    places.push(place)
  }
  const isCut = place < (last - first) * 0.6
  const length = isCut ? place : last - first
  const toPlace = (at: number): number => {
    if (!isCut) return at - first
    const index = lastBefore(times, at)
    if (index < 0) return 0
    return Math.min(length, places[index]! + Math.min(MAX_STRETCH, at - times[index]!))
  }
  const toTime = (wanted: number): number => {
    if (!isCut) return first + wanted
    const index = Math.max(0, lastBefore(places, wanted))
    return (times[index] ?? first) + (wanted - (places[index] ?? 0))
  }
  const isShort = last - first < DAY_MICROS
  const ticks = Array.from({ length: 5 }, (_, index) => {
    const where = (length * (index + 0.5)) / 5
    const text = new Date(toTime(where) / 1000).toISOString()
    return [where, isShort ? text.slice(11, 19) : text.slice(5, 16).replace('T', ' ')] as const
  })
  return { length: Math.max(1, length), place: toPlace, ticks, isCut }
}

function lastBefore(sorted: readonly number[], value: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! <= value) low = middle + 1
    else high = middle
  }
  return low - 1
}
