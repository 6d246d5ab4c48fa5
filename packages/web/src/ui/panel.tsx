import type { ReadonlySignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { printCount } from '../model/decimal.ts'
import type { ExportScope } from '../model/export.ts'
import type { ApiCall } from '../model/snippet.ts'
import { ApiCalls } from './api-calls.tsx'
import { ExportBox } from './export-box.tsx'

/** A titled section of a page, with its tools and its requests. */
export function PanelBox(props: {
  readonly title: string
  readonly class?: string
  readonly tools?: ComponentChildren
  readonly calls?: ReadonlySignal<readonly ApiCall[]>
  /** How many rows it has. */
  readonly count?: number | undefined
  /** What its file has; without it the answer of its request. */
  readonly scope?: (() => ExportScope | undefined) | undefined
  readonly children: ComponentChildren
}) {
  const ref = useRef<HTMLElement>(null)
  return (
    <section class={`panel ${props.class ?? ''}`} aria-label={props.title} ref={ref}>
      <header class="panel-head">
        <h2>
          {props.title}
          {props.count !== undefined && <span class="quiet count">{printCount(props.count)}</span>}
        </h2>
        <div class="panel-tools">
          {props.tools}
          {props.calls !== undefined && (
            <ExportBox title={props.title} calls={props.calls} scope={props.scope} box={ref} />
          )}
          {props.calls !== undefined && <ApiCalls calls={props.calls} />}
        </div>
      </header>
      {props.children}
    </section>
  )
}
