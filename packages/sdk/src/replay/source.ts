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
