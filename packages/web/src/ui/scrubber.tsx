import { effect, useSignalEffect } from '@preact/signals'
import { isMarketState } from '@priorbook/sdk/domain'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { colour, paint } from '../app/theme.ts'
import { showExact, zoneName } from '../app/show.ts'
import { SPEEDS } from '../session/replayer.ts'
import type { Player, TimeSession, TimeStore } from '../session/time-store.ts'
import { CopyButton } from './api-calls.tsx'
import { hatchPattern } from './stage.ts'
import { useKeys } from './use-keys.ts'
import { useWidth } from './use-size.ts'

/** The time controls of a market: drag, play at any speed, step from row to row. */
export function Scrubber(props: {
  readonly store: TimeStore
  /** A link to exactly what is shown. */
  readonly link: () => string
}) {
  const { store, link } = props
  const { session } = store
  const extent = session.extent.value
  const isLive = session.isLive.value
  useShortcuts(session)
  if (extent === undefined) return null
  const last = Math.max(extent.to, session.present.value)
  return (
    <section class="scrubber" aria-label="Time">
      <PlayButtons replayer={session.replayer} />
      <div class="scrub-bar">
        <GapStrip store={store} from={extent.from} to={last} />
        <Slider store={store} from={extent.from} to={last} />
      </div>
      <div class="scrub-time">
        <Clock store={store} />
        <CopyButton text={link} label="Copy a link to this view">
          Link
        </CopyButton>
        <button
          type="button"
          class={`live-button${session.moment.value === 'now' ? ' on' : ''}`}
          aria-pressed={isLive}
          title="Follow the present (l)"
          onClick={() => session.goLive()}
        >
          <span aria-hidden="true">●</span> {session.isOpen.value ? 'Live' : 'Latest'}
        </button>
      </div>
    </section>
  )
}

function useShortcuts(session: TimeSession): void {
  const { replayer } = session
  const forward = (): void => void replayer.step(1)
  const back = (): void => void replayer.step(-1)
  useKeys(
    {
      ' ': () => (replayer.isPlaying.peek() ? replayer.pause() : replayer.play()),
      ArrowRight: forward,
      '.': forward,
      ArrowLeft: back,
      ',': back,
      l: () => session.goLive(),
    },
    [session],
  )
}

function PlayButtons({ replayer }: { readonly replayer: Player }) {
  const isPlaying = replayer.isPlaying.value
  return (
    <div class="scrub-buttons">
      <button
        type="button"
        aria-label="Observation before (left arrow)"
        title="Observation before (←)"
        onClick={() => void replayer.step(-1)}
      >
        ◂❙
      </button>
      <button
        type="button"
        class="play"
        aria-label={isPlaying ? 'Pause (space)' : 'Play (space)'}
        title={isPlaying ? 'Pause (space)' : 'Play (space)'}
        onClick={() => (isPlaying ? replayer.pause() : replayer.play())}
      >
        {isPlaying ? '❚❚' : '▶'}
      </button>
      <button
        type="button"
        aria-label="Next observation (right arrow)"
        title="Next observation (→)"
        onClick={() => void replayer.step(1)}
      >
        ❙▸
      </button>
      <label class="speed">
        <span class="sr">Speed</span>
        <select
          value={String(replayer.speed.value)}
          onChange={(event) => replayer.setSpeed(Number(event.currentTarget.value))}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={String(speed)}>
              ×{speed}
            </option>
          ))}
        </select>
      </label>
    </div>
  )
}

function Clock({ store }: { readonly store: TimeStore }) {
  const ref = useRef<HTMLTimeElement>(null)
  // Written at once, as the ladders are: effects of components wait for the next frame.
  useLayoutEffect(
    () =>
      effect(() => {
        const time = store.session.throttledClock.value
        ref.current!.textContent = `${showExact(time).slice(0, 23)} ${zoneName(time)}`
      }),
    [store],
  )
  return <time ref={ref} class="clock" />
}

// Moved through the DOM, so that playing does not render the page in every frame.
function Slider(props: { readonly store: TimeStore; readonly from: number; readonly to: number }) {
  const { store, from, to } = props
  const input = useRef<HTMLInputElement>(null)
  const span = Math.max(1, to - from)
  const place = (): void => {
    const time = Math.min(to, Math.max(from, store.session.throttledClock.value))
    const element = input.current
    if (element === null) return
    const value = String(Math.round(((time - from) / span) * 10_000))
    if (element.value !== value) element.value = value
    if (store.session.replayer.isPlaying.value) return
    element.setAttribute('aria-valuetext', `${showExact(time).slice(0, 23)} ${zoneName(time)}`)
  }
  useSignalEffect(place)
  // An instant that stands still has another place when the ends of the slider move.
  useEffect(place, [from, to])
  return (
    <input
      ref={input}
      type="range"
      min="0"
      max="10000"
      step="1"
      aria-label="Time shown"
      onInput={(event) => {
        store.session.seek(from + (Number(event.currentTarget.value) / 10_000) * span)
      }}
    />
  )
}

function GapStrip(props: {
  readonly store: TimeStore
  readonly from: number
  readonly to: number
}) {
  const { store, from, to } = props
  const { ref, width } = useWidth()
  const canvas = useRef<HTMLCanvasElement>(null)
  const draw = (): void => {
    void paint.value
    const gaps = store.gaps.value
    const element = canvas.current
    if (element === null || width === 0) return
    const ratio = devicePixelRatio
    element.width = Math.round(width * ratio)
    element.height = Math.round(8 * ratio)
    const context = element.getContext('2d')!
    context.fillStyle = colour('have')
    context.fillRect(0, 0, element.width, element.height)
    const pattern = hatchPattern(context, ratio)
    for (const { start, end, reason } of gaps) {
      const left = Math.max(0, (start - from) / (to - from)) * element.width
      const right = Math.min(1, ((end ?? to) - from) / (to - from)) * element.width
      if (right <= left) continue
      context.fillStyle = colour('plot')
      context.fillRect(left, 0, Math.max(2 * ratio, right - left), element.height)
      if (isMarketState(reason)) continue
      context.fillStyle = pattern
      context.fillRect(left, 0, Math.max(2 * ratio, right - left), element.height)
    }
  }
  useSignalEffect(draw)
  useEffect(draw, [width, from, Math.floor(to / 1e6)])
  return (
    <div ref={ref} class="gap-strip">
      <canvas ref={canvas} aria-hidden="true" />
    </div>
  )
}
