import type { ReadonlySignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { ApiCall } from '../model/snippet.ts'
import { ApiCalls } from './api-calls.tsx'

/** A titled section of a page, with its tools and its requests. */
export function PanelBox(props: {
  readonly title: string
  readonly class?: string
  readonly tools?: ComponentChildren
  readonly calls?: ReadonlySignal<readonly ApiCall[]>
  readonly children: ComponentChildren
}) {
  return (
    <section class={`panel ${props.class ?? ''}`} aria-label={props.title}>
      <header class="panel-head">
        <h2>{props.title}</h2>
        <div class="panel-tools">
          {props.tools}
          {props.calls !== undefined && <ApiCalls calls={props.calls} />}
        </div>
      </header>
      {props.children}
    </section>
  )
}
