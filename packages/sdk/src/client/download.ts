import { ROUTES, type DownloadFormat, type RouteShape } from '../wire/index.ts'
import type { Caller } from './caller.ts'
import { PriorbookClientError } from './errors.ts'
import type { CallOptions, DownloadParams } from './params.ts'

/** A download in progress. */
export type Download = {
  /** The name that the server gives the file. */
  readonly fileName: string
  readonly contentType: string
  readonly requestId: string | undefined
  /** Throws when the connection breaks; the bytes until then are the beginning of the file. */
  readonly body: AsyncIterable<Uint8Array>
}

/** How a download is read. */
export type DownloadOptions = CallOptions & {
  /** How long the connection may be silent before it counts as broken; 60 s. */
  readonly idleTimeoutMs?: number | undefined
}

const IDLE_TIMEOUT_MS = 60_000
// The first rows of a large family have to be found before the headers are sent.
const HEADERS_TIMEOUT_MS = 120_000

/** Opens a download. A broken body is not retried: the caller knows how much of it has arrived. */
export function openDownload(
  caller: Caller,
  params: DownloadParams,
  options: DownloadOptions,
): Promise<Download> {
  return openFile(caller, ROUTES.bulk, params, options)
}

/** Opens a file of any route that gives some. */
export async function openFile(
  caller: Caller,
  route: RouteShape,
  params: { readonly format?: DownloadFormat | undefined },
  options: DownloadOptions,
): Promise<Download> {
  const { format = 'ndjson', ...rest } = params
  const path = caller.place(route, route.address)
  // Binary formats have no style.
  const query = TEXT_FORMATS.includes(format) ? caller.withStyle(route, rest) : rest
  const { signal, idleTimeoutMs = IDLE_TIMEOUT_MS } = options
  const limits = { signal, timeoutMs: HEADERS_TIMEOUT_MS }
  const response = await caller.http.open(path, { ...query, format }, limits)
  const { headers } = response
  const name = /filename="([^"]+)"/.exec(headers.get('content-disposition') ?? '')?.[1]
  return {
    fileName: name ?? `priorbook.${format}`,
    contentType: headers.get('content-type') ?? 'application/octet-stream',
    requestId: headers.get('x-request-id') ?? undefined,
    body: read(response, signal, idleTimeoutMs),
  }
}

const TEXT_FORMATS: readonly string[] = ['ndjson', 'csv']

// Not every runtime has async iteration over the body of fetch, but every one has readers.
async function* read(
  { body }: Response,
  signal: AbortSignal | undefined,
  idleTimeoutMs: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (body === null) return
  const reader = body.getReader()
  let isDone = false
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read(), idleTimeoutMs)
      if (done) break
      yield value as Uint8Array
    }
    isDone = true
  } catch (cause) {
    signal?.throwIfAborted()
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new PriorbookClientError('network_failed', `the download broke: ${why}`, { cause })
  } finally {
    if (!isDone) await reader.cancel().catch(() => {})
  }
}

async function inTime<Value>(promise: Promise<Value>, ms: number): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came for ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, silence])
  } finally {
    clearTimeout(timer)
  }
}
