import type { TapePlatform } from '../tape/index.ts'
import type { ByteStore } from './source.ts'

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
