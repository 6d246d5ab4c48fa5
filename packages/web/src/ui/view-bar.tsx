import { useComputed } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { offsetOf, showExact, zoneName } from '../app/show.ts'
import { instantOf, parseLinkTime, printSpan } from '../model/time.ts'
import { toRange, type Range } from '../model/range.ts'
import type { ChartView } from '../session/chart-view.ts'
import { CopyButton } from './api-calls.tsx'
import { useKeys } from './use-keys.ts'

// How much one press zooms and moves.
const ZOOM = 0.5
const PAN = 0.25

/** A span to choose, and whether it is shown. */
export type Preset = {
  readonly name: string
  readonly isShown: boolean
  readonly show: () => void
}

/** The span that all charts of a page show: some to choose from, any other by its ends, and zoom. */
export function ViewBar(props: {
  readonly view: ChartView
  readonly presets: readonly Preset[]
  /** A link to what is shown, where no other control of the page has one. */
  readonly link?: () => string
}) {
  const { view, presets, link } = props
  useKeys(
    {
      '+': () => view.zoomBy(ZOOM),
      '=': () => view.zoomBy(ZOOM),
      '-': () => view.zoomBy(1 / ZOOM),
      '0': () => view.show(undefined),
      'Shift+ArrowLeft': () => view.panBy(-PAN),
      'Shift+ArrowRight': () => view.panBy(PAN),
    },
    [view],
  )
  return (
    <div class="view-bar">
      <div class="segments" role="group" aria-label="Span of time">
        {presets.map(({ name, isShown, show }) => (
          <button key={name} type="button" aria-pressed={isShown} onClick={show}>
            {name}
          </button>
        ))}
      </div>
      <ExactRange view={view} />
      <div class="segments" role="group" aria-label="Zoom">
        <button
          type="button"
          aria-label="Zoom out (-)"
          title="Zoom out (-)"
          onClick={() => view.zoomBy(1 / ZOOM)}
        >
          −
        </button>
        <button
          type="button"
          aria-label="Zoom in (+)"
          title="Zoom in (+)"
          onClick={() => view.zoomBy(ZOOM)}
        >
          +
        </button>
      </div>
      {link !== undefined && (
        <CopyButton text={link} label="Copy a link to this view">
          Link
        </CopyButton>
      )}
    </div>
  )
}

// The two ends, to read and to type.
function ExactRange({ view }: { readonly view: ChartView }) {
  const box = useRef<HTMLDetailsElement>(null)
  const from = useRef<HTMLInputElement>(null)
  const to = useRef<HTMLInputElement>(null)
  const text = useComputed(() => rangeText(view.range.value))
  const fill = (): void => {
    const range = view.range.peek()
    if (range === undefined || box.current?.open !== true) return
    from.current!.value = fieldText(range.from)
    to.current!.value = fieldText(range.to)
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    const [start, end] = [from, to].map((field) => fieldTime(field.current!.value))
    const range = toRange(start, end)
    to.current!.setCustomValidity(range === undefined ? 'The end must be after the beginning.' : '')
    if (range === undefined) {
      to.current!.reportValidity()
      return
    }
    view.show(range)
    box.current!.open = false
  }
  return (
    <details class="box exact-range" ref={box} onToggle={fill}>
      <summary title="Type the span of time">
        <span class="sr">Span: </span>
        {text}
      </summary>
      <form onSubmit={submit}>
        <label>
          <span>From</span>
          <input ref={from} type="datetime-local" step="0.001" required />
        </label>
        <label>
          <span>To</span>
          <input
            ref={to}
            type="datetime-local"
            step="0.001"
            required
            onInput={(event) => event.currentTarget.setCustomValidity('')}
          />
        </label>
        <span class="quiet">{zoneName(view.range.peek()?.from ?? 0)}</span>
        <button type="submit">Show</button>
      </form>
    </details>
  )
}

function rangeText(range: Range | undefined): string {
  if (range === undefined) return '–'
  const [from, to] = [showExact(range.from), showExact(range.to)]
  const isShort = range.to - range.from < 60e6
  const end = isShort ? 21 : 19
  const last = from.slice(0, 10) === to.slice(0, 10) ? to.slice(11, end) : to.slice(5, end)
  const span = printSpan(range.to - range.from)
  return `${from.slice(5, end)} – ${last} ${zoneName(range.from)} · ${span}`
}

// A field has milliseconds, by the visitor's clock.
function fieldText(time: number): string {
  return showExact(time).slice(0, 23).replace(' ', 'T')
}

function fieldTime(text: string): number | undefined {
  const time = parseLinkTime(text === '' ? null : `${text}Z`)
  return time === undefined ? undefined : instantOf(time, offsetOf)
}
