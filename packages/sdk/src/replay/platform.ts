import type { TapePlatform } from '../tape/index.ts'
import type { ByteStore } from './byte-store.ts'

/** A checksum or hash that takes bytes one after another; `finish` gives hexadecimal digits. */
export interface RunningSum {
  update(bytes: Uint8Array): void
  finish(): string
}

/**
 * What a replay needs from its runtime, beyond the tape codec. Node's is made by `createReplayPlatform`
 * of `@priorbook/sdk/replay/node`.
 */
export interface ReplayPlatform extends TapePlatform {
  createSha256(): RunningSum
  createCrc32(): RunningSum
  /** Unpacks a stream of bytes; throws `truncated_file` where it ends too early. */
  unpack(kind: 'gzip' | 'zstd', bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
  /** A place for what a download holds until it can be merged. */
  openSpool(): Promise<Spool>
}

/** Bytes that are written once and then read in any order; closing throws them away. */
export interface Spool extends ByteStore {
  /** Appends and gives the offset of what was appended. The bytes may be used again afterwards. */
  append(bytes: Uint8Array): Promise<number>
}
