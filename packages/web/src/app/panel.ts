import { signal, type ReadonlySignal } from '@preact/signals'
import { createClient, type PriorbookClient } from '@priorbook/sdk/client'
import { toSource, type ApiCall } from '../model/snippet.ts'
import { key } from './key.ts'
import { Pace } from './pace.ts'
import { heardFromServer, lostServer } from './reach.ts'

/** A client of one panel that remembers what the panel asked, word for word. */
export type Panel = {
  readonly client: PriorbookClient
  /** The newest request of each kind. */
  readonly calls: ReadonlySignal<readonly ApiCall[]>
  /** Says how the SDK writes the request that follows. */
  readonly note: (method: string, params?: object) => void
}

// All panels share the limits of the key; demonstration data have room for a page.
let shared: { readonly key: string; readonly pace: Pace } | undefined

function paceOf(text: string | undefined): Pace | undefined {
  if (text === undefined) return undefined
  if (shared?.key !== text) shared = { key: text, pace: new Pace() }
  return shared.pace
}

/** Creates the client of a panel: with the visitor's key, or over demonstration data without one. */
export function createPanel(): Panel {
  const calls = signal<readonly ApiCall[]>([])
  let code = ''
  const remember = (url: string): void => {
    // The pages after the first are the walk's own business.
    if (code === '' || /[?&]cursor=/.test(url)) return
    const call = { url, code }
    const name = code.replace(/\(\{?.*$/s, '')
    const isSame = (other: ApiCall): boolean =>
      other.code.startsWith(name) && new URL(other.url).pathname === new URL(url).pathname
    const metric = new URL(url).searchParams.get('metric')
    calls.value = [
      ...calls
        .peek()
        .filter(
          (other) => !isSame(other) || new URL(other.url).searchParams.get('metric') !== metric,
        ),
      call,
    ]
  }
  const pace = paceOf(key.peek())
  const client = createClient({
    url: location.origin,
    ...(key.peek() === undefined ? { demo: true } : { key: key.peek()! }),
    number_format: 'string',
    time_format: 'epoch_us',
    // The explorer shows that it waits and tries again itself.
    retries: { retries: 3, maxRetryAfterMs: 5000 },
    fetch: async (input, init) => {
      const url = input instanceof Request ? input.url : input.toString()
      remember(url)
      await pace?.turn()
      try {
        init?.signal?.throwIfAborted()
        const response = await fetch(input, init)
        pace?.heard(response.headers.get('ratelimit-policy'))
        heardFromServer()
        return response
      } catch (error) {
        pace?.heard(undefined)
        if (init?.signal?.aborted !== true) lostServer()
        throw error
      }
    },
  })
  return {
    client,
    calls,
    note: (method, params = {}) => {
      code = `${method.includes('.') ? method : `client.${method}`}(${
        Object.keys(params).length === 0 ? '' : toSource(params)
      })`
    },
  }
}
