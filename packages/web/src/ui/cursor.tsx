import { useSignalEffect } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { ChartStore } from '../session/chart-store.ts'
import { fromX, toX } from './stage.ts'

/** The line of the page's instant across a chart; pointing at the chart moves it. */
export function Cursor(props: {
  readonly store: ChartStore
  readonly width: number
  readonly height: number
}) {
  const { store, width, height } = props
  const line = useRef<HTMLDivElement>(null)
  // Moved by hand: a frame of a replay moves the line and redraws nothing.
  useSignalEffect(() => {
    const range = store.range.value
    const clock = store.session.clock.value
    const element = line.current
    if (element === null || range === undefined || width === 0) return
    const x = toX(clock, range, width)
    const isInside = clock >= range.from && clock <= range.to
    element.style.transform = `translateX(${x.toFixed(1)}px)`
    element.style.visibility = isInside ? 'visible' : 'hidden'
  })
  const seek = (event: PointerEvent): void => {
    const range = store.range.peek()
    if (range === undefined) return
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect()
    store.session.seek(fromX(event.clientX - box.left, range, width))
  }
  return (
    <div
      class="scrub-area"
      style={{ height: `${height}px` }}
      onPointerDown={(event) => {
        if (event.button !== 0) return
        event.currentTarget.setPointerCapture(event.pointerId)
        seek(event)
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) seek(event)
      }}
    >
      <div class="cursor-line" ref={line} style={{ height: `${height}px` }} />
    </div>
  )
}
