import type { ByteStore } from './byte-store.ts'

/** A file that stays where it is: it is read once to judge it, and then at any place. */
export type FileSource = {
  readonly kind: 'file'
  readonly name: string
  /** All bytes in order, for the first look. */
  open(signal: AbortSignal): AsyncIterable<Uint8Array>
  /** The same bytes at any place. */
  openStore(): Promise<ByteStore>
}

/** Bytes that come once and in order, such as a download; what is needed of them is spooled. */
export type StreamSource = {
  readonly kind: 'stream'
  readonly name: string
  open(signal: AbortSignal): AsyncIterable<Uint8Array>
}

/**
 * Where a replay reads from. What the bytes are (a `tape` container or NDJSON, as they are or packed by
 * gzip or zstd) they say themselves.
 */
export type ReplaySource = FileSource | StreamSource
