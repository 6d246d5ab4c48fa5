import { showSeconds } from '../app/show.ts'
import { printSpan } from '../model/time.ts'

/** One figure of a page's head. */
export function Fact(props: {
  readonly name: string
  readonly value: preact.ComponentChildren
  readonly class?: string
}) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd class={props.class ?? ''}>{props.value}</dd>
    </div>
  )
}

/** How long trading goes on from an instant, or when it ended. */
export function CloseFact(props: { readonly close: number | undefined; readonly clock: number }) {
  const { close, clock } = props
  if (close === undefined) return <Fact name="Closes in" value="–" />
  return clock < close ? (
    <Fact name="Closes in" value={printSpan(close - clock)} />
  ) : (
    <Fact name="Closed" value={showSeconds(close).slice(0, 16)} />
  )
}
