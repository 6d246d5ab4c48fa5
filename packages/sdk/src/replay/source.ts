import type { TapePlatform } from '../tape/index.ts'
import { ReplayError } from './error.ts'

/** Bytes that can be read at any offset, such as a file. */
export interface ByteStore {
  /** The name in error messages. */
  readonly name: string
  /** Reads exactly `length` bytes into a new array, or throws. */
  read(offset: number, length: number): Promise<Uint8Array>
  close(): Promise<void>
}

/** A file: read once to verify it, then at any offset. */
export type FileSource = {
  readonly kind: 'file'
  readonly name: string
  /** All bytes in order, for the verification. */
  open(signal: AbortSignal): AsyncIterable<Uint8Array>
  /** The same bytes at any offset. */
  openStore(): Promise<ByteStore>
}

/** Bytes that come once and in order, such as a download; what a replay needs of them is spooled. */
export type StreamSource = {
  readonly kind: 'stream'
  readonly name: string
  open(signal: AbortSignal): AsyncIterable<Uint8Array>
}

/**
 * Where a replay reads from. Its format, a `tape` container or NDJSON, plain or compressed by gzip or
 * zstd, is detected from the first bytes.
 */
export type ReplaySource = FileSource | StreamSource

/** An incremental checksum or hash; `finish` returns hexadecimal digits. */
export interface RunningSum {
  update(bytes: Uint8Array): void
  finish(): string
}

/**
 * What a replay needs from its runtime, beyond the tape codec. `@priorbook/sdk/replay/node` creates one
 * for Node.
 */
export interface ReplayPlatform extends TapePlatform {
  createSha256(): RunningSum
  createCrc32(): RunningSum
  /** Decompresses a stream of bytes; throws `truncated_file` where it ends too early. */
  unpack(kind: 'gzip' | 'zstd', bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
  /** Opens temporary storage for the chunks of a download until they are merged. */
  openSpool(): Promise<Spool>
}

/** Temporary storage: written once, read at any offset, deleted when closed. */
export interface Spool extends ByteStore {
  /** Appends bytes and returns their offset; the caller may reuse the array. */
  append(bytes: Uint8Array): Promise<number>
}

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

/** Two arrays of bytes as one. */
export function concat(left: Uint8Array, right: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(left.length + right.length)
  joined.set(left)
  joined.set(right, left.length)
  return joined
}
