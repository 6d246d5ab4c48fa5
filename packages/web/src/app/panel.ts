import { signal, type ReadonlySignal } from '@preact/signals'
import { createClient, type PriorbookClient } from '@priorbook/sdk/client'
import { toSource, type ApiCall } from '../model/snippet.ts'
import { key } from './key.ts'
import { RequestPacer } from './request-pacer.ts'

/** The client of one panel, which keeps its requests so that they can be copied. */
export type Panel = {
  readonly client: PriorbookClient
  /** The newest request of each kind. */
  readonly calls: ReadonlySignal<readonly ApiCall[]>
  /** Sets the SDK call of the next request; `id` is its first argument where the method takes one. */
  readonly note: (method: string, params?: object, id?: string) => void
}

// All panels share the limits of the key; demonstration data needs no pacing.
let shared: { readonly key: string; readonly pacer: RequestPacer } | undefined

function pacerOf(text: string | undefined): RequestPacer | undefined {
  if (text === undefined) return undefined
  if (shared?.key !== text) shared = { key: text, pacer: new RequestPacer() }
  return shared.pacer
}

type Style = Pick<Parameters<typeof createClient>[0], 'number_format' | 'time_format'>

// Pages read every digit of a decimal, and times as numbers.
const PAGE_STYLE: Style = { number_format: 'string', time_format: 'epoch_us' }

/** Creates the client of a panel: with the visitor's key, or over demonstration data without one. */
export function createPanel(style: Style = PAGE_STYLE): Panel {
  const calls = signal<readonly ApiCall[]>([])
  let code = ''
  const remember = (url: string): void => {
    // Pages after the first belong to the same call.
    if (code === '' || /[?&]cursor=/.test(url)) return
    const call = { url, code }
    const name = code.replace(/\(\{?.*$/s, '')
    const isSame = (other: ApiCall): boolean =>
      other.code.startsWith(name) && new URL(other.url).pathname === new URL(url).pathname
    calls.value = [
      ...calls.peek().filter((other) => !isSame(other) || kindOf(other.url) !== kindOf(url)),
      call,
    ]
  }
  const pacer = pacerOf(key.peek())
  const client = createClient({
    url: location.origin,
    ...(key.peek() === undefined ? { demo: true } : { key: key.peek()! }),
    ...style,
    // Few retries, because the explorer shows failures and retries itself.
    retries: { retries: 3, maxRetryAfterMs: 5000 },
    fetch: (input, init) => {
      const url = input instanceof Request ? input.url : input.toString()
      remember(url)
      return pacedFetch(pacer, input, init)
    },
  })
  return {
    client,
    calls,
    note: (method, params = {}, id) => {
      const given = [...(id === undefined ? [] : [id]), params]
      const args = given.filter((one) => Object.keys(one).length > 0).map(toSource)
      code = `${method.includes('.') ? method : `client.${method}`}(${args.join(', ')})`
    },
  }
}

async function pacedFetch(
  pacer: RequestPacer | undefined,
  input: RequestInfo | URL,
  init: RequestInit | undefined,
): Promise<Response> {
  await pacer?.acquire()
  try {
    init?.signal?.throwIfAborted()
    const response = await fetch(input, init)
    pacer?.noteAnswer(response.headers.get('ratelimit-policy'))
    noteAnswer()
    return response
  } catch (error) {
    pacer?.noteAnswer(undefined)
    if (init?.signal?.aborted !== true) noteNoAnswer()
    throw error
  }
}

// Requests of one address that a panel needs side by side, one for each metric or reason.
function kindOf(url: string): string {
  const { searchParams } = new URL(url)
  return `${searchParams.get('metric')} ${searchParams.get('reason')}`
}

/** False while the server cannot be reached; panels retry by themselves. */
export const isReachable = signal(true)

/** The server answered, with any status. */
export function noteAnswer(): void {
  isReachable.value = true
}

/** A request got no answer. */
function noteNoAnswer(): void {
  isReachable.value = false
}
