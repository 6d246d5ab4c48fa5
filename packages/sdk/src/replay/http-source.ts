import { ReplayError } from './error.ts'
import type { StreamSource } from './source.ts'

/** The part of `PriorbookClient` that a replay needs. */
export interface DownloadClient<Params> {
  download(
    params: Params,
    options: { readonly signal?: AbortSignal },
  ): Promise<{ readonly fileName: string; readonly body: AsyncIterable<Uint8Array> }>
}

/** A download through a client, with its key, retries and errors. */
export function downloadSource<Params extends object>(
  client: DownloadClient<Params>,
  params: Params,
): StreamSource {
  const words = Object.values(params).filter((value) => typeof value === 'string')
  return {
    kind: 'stream',
    name: `bulk ${words.join(' ')}`,
    async *open(signal) {
      const { body } = await client.download(params, { signal })
      yield* body
    },
  }
}

/** Options of a plain download. */
export type UrlSourceOptions = {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly fetch?: typeof globalThis.fetch
}

/** A download by a plain fetch: `/v3/bulk?…` of a server, or a file on any web server. */
export function urlSource(url: string | URL, options: UrlSourceOptions = {}): StreamSource {
  const name = String(url)
  return {
    kind: 'stream',
    name,
    async *open(signal) {
      const { key, fetch = globalThis.fetch } = options
      const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
      const response = await attempt(name, signal, () =>
        fetch(url, { headers: { ...authorization, ...options.headers }, signal }),
      )
      if (!response.ok || response.body === null) {
        const text = await response.text().catch(() => '')
        const detail = `the server answered ${response.status} ${text.slice(0, 300)}`
        throw new ReplayError('store_unavailable', detail.trimEnd(), { source: name })
      }
      const reader = response.body.getReader()
      let offset = 0
      try {
        for (;;) {
          const step = await attempt(name, signal, () => reader.read(), offset)
          if (step.done) return
          const block = step.value as Uint8Array
          offset += block.length
          yield block
        }
      } finally {
        await reader.cancel().catch(() => undefined)
      }
    },
  }
}

async function attempt<Result>(
  source: string,
  signal: AbortSignal,
  work: () => Promise<Result>,
  offset?: number,
): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    signal.throwIfAborted()
    const reason = cause instanceof Error ? cause.message : String(cause)
    const code = offset === undefined ? 'store_unavailable' : 'truncated_file'
    const detail =
      offset === undefined ? `cannot be reached: ${reason}` : `was interrupted: ${reason}`
    throw new ReplayError(code, detail, { source, offset }, cause)
  }
}
