import { rangeThrough, type Anchor } from '../model/range.ts'
import type { ChartView } from '../session/chart-view.ts'
import { fromX, GUTTER } from './stage.ts'

// A pointer that has moved less, in pixels, was pressed and not dragged.
const STILL = 4
const WHEEL = 0.0015
// Two fingers on a touchpad come as a wheel with Ctrl and small steps.
const PINCH = 0.01
const LINE_PIXELS = 16

/**
 * Lets wheel, mouse and fingers zoom and move the charts of a page: the wheel zooms around the pointer and moves
 * with Shift or sideways, a drag moves, two fingers do both, and a press that is no drag picks an instant.
 */
export function followGestures(
  area: HTMLElement,
  view: ChartView,
  pick: (time: number) => void,
): () => void {
  const held = new Map<number, Anchor>()
  const placeOf = (event: MouseEvent): number =>
    (event.clientX - area.getBoundingClientRect().left - GUTTER.left) /
    (area.clientWidth - GUTTER.left - GUTTER.right)
  const timeOf = (event: MouseEvent): number | undefined => {
    const range = view.range.peek()
    const x = event.clientX - area.getBoundingClientRect().left
    return range === undefined ? undefined : fromX(x, range, area.clientWidth)
  }
  // What each finger holds is the instant below it when it, or another one, came down or went up.
  const hold = (): void => {
    const { from, to } = view.range.peek() ?? { from: 0, to: 0 }
    for (const [id, { part }] of held) held.set(id, { part, time: from + part * (to - from) })
  }
  let pressed: { readonly x: number; readonly y: number } | undefined
  const stop = new AbortController()
  const on = listenTo(area, stop.signal)

  on('pointerdown', (event) => {
    if (event.button !== 0) return
    area.setPointerCapture(event.pointerId)
    held.set(event.pointerId, { time: 0, part: placeOf(event) })
    hold()
    pressed = held.size === 1 ? { x: event.clientX, y: event.clientY } : undefined
  })
  on('pointermove', (event) => {
    if (!held.has(event.pointerId)) {
      if (event.pointerType !== 'touch') view.point(timeOf(event))
      return
    }
    if (pressed !== undefined) {
      if (Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < STILL) return
      pressed = undefined
    }
    const range = view.range.peek()
    if (range === undefined) return
    const { time } = held.get(event.pointerId)!
    held.set(event.pointerId, { time, part: placeOf(event) })
    view.show(rangeThrough([...held.values()], range.to - range.from))
    view.point(timeOf(event))
  })
  on('pointerup', (event) => {
    held.delete(event.pointerId)
    hold()
    if (pressed === undefined) return
    pressed = undefined
    view.point(timeOf(event))
    // What the crosshair names is what is picked.
    const time = view.pointed.peek() ?? timeOf(event)
    if (time !== undefined) pick(time)
  })
  on('pointercancel', (event) => {
    held.delete(event.pointerId)
    pressed = undefined
  })
  on('pointerleave', (event) => {
    if (event.pointerType !== 'touch') view.point(undefined)
  })
  on('wheel', (event) => {
    const time = timeOf(event)
    // Where there is nothing more to show, the wheel moves the page.
    if (time !== undefined && turnWheel(event, view, time, area.clientWidth)) event.preventDefault()
  })
  return () => stop.abort()
}

function listenTo(area: HTMLElement, signal: AbortSignal) {
  return <Name extends keyof HTMLElementEventMap>(
    name: Name,
    act: (event: HTMLElementEventMap[Name]) => void,
  ): void => area.addEventListener(name, act, { signal, passive: false })
}

function turnWheel(event: WheelEvent, view: ChartView, time: number, width: number): boolean {
  const unit = event.deltaMode === 0 ? 1 : LINE_PIXELS
  const isAside = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)
  const delta = unit * (isAside && event.deltaX !== 0 ? event.deltaX : event.deltaY)
  if (isAside) return view.panBy(delta / width)
  return view.zoomAt(time, Math.exp(delta * (event.ctrlKey ? PINCH : WHEEL)))
}
