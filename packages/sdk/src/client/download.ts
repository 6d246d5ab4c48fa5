import type { Caller } from './caller.ts'
import { PriorbookClientError } from './errors.ts'
import type { CallOptions, DownloadParams } from './params.ts'
import { ROUTES } from './routes.ts'

/** A file on its way. */
export type Download = {
  /** The name that the server gives the file. */
  readonly fileName: string
  readonly contentType: string
  readonly requestId: string | undefined
  /** Throws when the connection breaks; what arrived until then is the beginning of the file. */
  readonly body: AsyncIterable<Uint8Array>
}

/** Opens a download. A body that breaks is not asked for again: the caller knows what it has of it. */
export async function openDownload(
  caller: Caller,
  params: DownloadParams,
  options: CallOptions,
): Promise<Download> {
  const { bulk } = ROUTES
  const { format = 'ndjson', ...rest } = params
  const path = caller.place(bulk.address)
  // What has no text in it knows no style.
  const query = TEXT_FORMATS.includes(format) ? caller.withStyle(bulk, rest) : rest
  const response = await caller.http.open(path, { ...query, format }, options)
  const { headers } = response
  const name = /filename="([^"]+)"/.exec(headers.get('content-disposition') ?? '')?.[1]
  return {
    fileName: name ?? `priorbook.${format}`,
    contentType: headers.get('content-type') ?? 'application/octet-stream',
    requestId: headers.get('x-request-id') ?? undefined,
    body: read(response, options.signal),
  }
}

const TEXT_FORMATS: readonly string[] = ['ndjson', 'csv']

// Not every runtime has async iteration on the streams of fetch: readers are everywhere.
async function* read(
  { body }: Response,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (body === null) return
  const reader = body.getReader()
  let isDone = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
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
