import type { ReadonlySignal } from '@preact/signals'
import { toCurl, toTypeScript, type ApiCall } from '../model/snippet.ts'
import { CopyButton } from './copy-button.tsx'

/** The exact requests of a panel, to copy as curl or TypeScript. */
export function ApiCalls(props: { readonly calls: ReadonlySignal<readonly ApiCall[]> }) {
  const calls = props.calls.value
  if (calls.length === 0) return null
  return (
    <details class="calls">
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
              </span>
            </li>
          )
        })}
      </ul>
    </details>
  )
}
