import { createHash } from 'node:crypto'
import { constants, crc32, zstdCompressSync } from 'node:zlib'
import type { TapePlatform } from './platform.ts'
import { createZstdDecoder } from './zstd-node.ts'

/** Level 12 costs twice level 9 and saves 3 %; see docs/benchmarks.md. */
export const DEFAULT_LEVEL = 12

/** The codec's needs served by Node's own zlib and crypto. */
export function createNodePlatform(level: number = DEFAULT_LEVEL): TapePlatform {
  const options = { params: { [constants.ZSTD_c_compressionLevel]: level } }
  return {
    compress: (raw) => zstdCompressSync(raw, options),
    decompress: createZstdDecoder(),
    sha256(parts) {
      const hash = createHash('sha256')
      for (const part of parts) hash.update(part)
      return hash.digest()
    },
    crc32: (bytes) => crc32(bytes),
  }
}
