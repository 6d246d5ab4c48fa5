import { computed, effect } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { TimeStore } from '../session/time-store.ts'
import { fromX, toX } from './stage.ts'

/** The line of the page's instant across a chart; clicking the chart moves it. */
export function Cursor(props: {
  readonly store: TimeStore
  readonly width: number
  readonly height: number
}) {
  const { store, width, height } = props
  const line = useRef<HTMLDivElement>(null)
  // Moved through the DOM in steps of half a pixel, so that most frames of a replay change nothing.
  useLayoutEffect(() => {
    if (width === 0) return undefined
    const place = computed(() => {
      const range = store.range.value
      const clock = store.session.clock.value
      if (range === undefined || clock < range.from || clock > range.to) return undefined
      return Math.round(toX(clock, range, width) * 2) / 2
    })
    return effect(() => {
      const { style } = line.current!
      style.visibility = place.value === undefined ? 'hidden' : 'visible'
      if (place.value !== undefined) style.transform = `translateX(${place.value}px)`
    })
  }, [store, width])
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
