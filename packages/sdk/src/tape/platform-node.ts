import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { TapePlatform } from './platform.ts'
import { createZstdDecoder, createZstdEncoder, type ZstdEncoder } from './zstd-node.ts'

/** The zstd level: 11 and above save 3 % in three times the time; 6 to 10 give the same bytes. */
export const DEFAULT_LEVEL = 6

/** Creates the codec's platform from Node's zlib and crypto. */
export function createNodePlatform(level: number = DEFAULT_LEVEL): TapePlatform {
  // Created on first use, because readers never compress.
  let encode: ZstdEncoder | undefined
  return {
    compress(raw) {
      encode ??= createZstdEncoder(level)
      return encode(raw)
    },
    decompress: createZstdDecoder(),
    sha256(parts) {
      const hash = createHash('sha256')
      for (const part of parts) hash.update(part)
      return hash.digest()
    },
    crc32: (bytes) => crc32(bytes),
  }
}
