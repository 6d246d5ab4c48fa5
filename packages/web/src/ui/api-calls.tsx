import type { ReadonlySignal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { toCurl, toPython, toTypeScript, type ApiCall } from '../model/snippet.ts'

/** The exact requests of a panel, to copy as curl, TypeScript or Python. */
export function ApiCalls(props: { readonly calls: ReadonlySignal<readonly ApiCall[]> }) {
  const calls = props.calls.value
  if (calls.length === 0) return null
  return (
    <details class="box calls">
      <summary>API</summary>
      <ul>
        {calls.map((call) => {
          const { pathname, search } = new URL(call.url)
          return (
            <li key={pathname + search}>
              <code tabIndex={0}>
                GET {pathname}
                <wbr />
                {decodeURIComponent(search)}
              </code>
              <span class="calls-copy">
                <CopyButton text={toCurl(call)} label={`Copy ${pathname} as curl`}>
                  curl
                </CopyButton>
                <CopyButton text={toTypeScript(call)} label={`Copy ${pathname} as TypeScript`}>
                  TypeScript
                </CopyButton>
                <CopyButton text={toPython(call)} label={`Copy ${pathname} as Python`}>
                  Python
                </CopyButton>
              </span>
            </li>
          )
        })}
      </ul>
    </details>
  )
}

/** Copies a text and confirms it for a moment. */
export function CopyButton(props: {
  /** The text, or a function that returns it when the button is pressed. */
  readonly text: string | (() => string)
  readonly label: string
  readonly children?: string
}) {
  const [state, setState] = useState<'idle' | 'done' | 'failed'>('idle')
  const copy = async (): Promise<void> => {
    const text = typeof props.text === 'string' ? props.text : props.text()
    try {
      await navigator.clipboard.writeText(text)
      setState('done')
    } catch {
      setState(copyOldWay(text) ? 'done' : 'failed')
    }
    setTimeout(() => setState('idle'), 1500)
  }
  const word = state === 'done' ? 'Copied' : state === 'failed' ? 'Select it' : props.children
  return (
    <button
      type="button"
      class="copy"
      aria-label={`${props.label}${state === 'done' ? ' (copied)' : ''}`}
      onClick={() => void copy()}
    >
      {word ?? 'Copy'}
    </button>
  )
}

// Some browsers have no clipboard API on pages without TLS.
function copyOldWay(text: string): boolean {
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  const isDone = document.execCommand('copy')
  area.remove()
  return isDone
}
