import { computed, effect, type ReadonlySignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { ChartView } from '../session/chart-view.ts'
import type { TimeSession } from '../session/time-store.ts'
import { followGestures } from './gestures.ts'
import { toX } from './stage.ts'

/** What a chart shares with the others of its page; a page without an instant has no session. */
export type Stage = { readonly view: ChartView; readonly session?: TimeSession }

/**
 * What lies over a chart: the line of the page's instant, the crosshair that all charts share with the values below
 * it, and wheel, drag and pinch. Pressing the chart moves the instant.
 */
export function Cursor(props: {
  readonly store: Stage
  readonly width: number
  readonly height: number
  /** What the chart shows at the instant of the crosshair. */
  readonly values?: ((time: number) => string) | undefined
}) {
  const { store, width, height, values } = props
  const { view, session } = store
  const area = useRef<HTMLDivElement>(null)
  const line = useRef<HTMLDivElement>(null)
  const cross = useRef<HTMLDivElement>(null)
  const output = useRef<HTMLOutputElement>(null)
  // Moved through the DOM, so that most frames of a replay change nothing.
  useLayoutEffect(() => {
    if (width === 0) return undefined
    const stops = [
      followGestures(area.current!, view, (time) => session?.seek(time)),
      moveLine(cross.current!, view, view.pointed, width),
      ...(session === undefined ? [] : [moveLine(line.current!, view, session.clock, width)]),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }, [view, session, width])
  useLayoutEffect(
    () =>
      effect(() => {
        const { value: time } = view.pointed
        const { current } = output
        if (current === null) return
        current.textContent = time === undefined || values === undefined ? '' : values(time)
        // The exact instant, for scripts that read the page.
        current.dataset['at'] = String(time ?? '')
      }),
    [view, values],
  )
  return (
    <>
      <div class="scrub-area" ref={area} style={{ height: `${height}px` }}>
        <div class="cursor-line" ref={line} style={{ height: `${height}px` }} />
        <div class="cross-line" ref={cross} style={{ height: `${height}px` }} />
      </div>
      <output class="readout" ref={output} />
    </>
  )
}

// In steps of half a pixel.
function moveLine(
  element: HTMLElement,
  { range }: ChartView,
  time: ReadonlySignal<number | undefined>,
  width: number,
): () => void {
  const place = computed(() => {
    const { value: shown } = range
    const { value: at } = time
    if (shown === undefined || at === undefined || at < shown.from || at > shown.to)
      return undefined
    return Math.round(toX(at, shown, width) * 2) / 2
  })
  return effect(() => {
    const { style } = element
    style.visibility = place.value === undefined ? 'hidden' : 'visible'
    if (place.value !== undefined) style.transform = `translateX(${place.value}px)`
  })
}
