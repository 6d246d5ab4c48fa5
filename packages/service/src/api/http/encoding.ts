import { promisify } from 'node:util'
import { constants, createGzip, createZstdCompress, gzip, gzipSync } from 'node:zlib'
import type { Transform } from 'node:stream'
import { createNodePlatform } from '@priorbook/sdk/tape/node'

/** How the bytes of an answer are packed. */
export type Encoding = 'identity' | 'gzip' | 'zstd'

// Level 1 of both: a page shrinks 40 times in 0.07 ms; higher levels cost more than they save.
const LEVEL = 1
const GZIP = { level: LEVEL }
// Below this packing gains nothing; above that gzip takes milliseconds and goes to another thread.
const SMALLEST = 1024
const LARGEST_SYNC_GZIP = 262_144
const MAX_REMEMBERED = 200

const remembered = new Map<string, Encoding>()
const gzipAside = promisify<Uint8Array, typeof GZIP, Uint8Array>(gzip)
const platform = createNodePlatform(LEVEL)

/** The best encoding that `Accept-Encoding` allows. */
export function chooseEncoding(header: string | undefined): Encoding {
  if (header === undefined) return 'identity'
  let encoding = remembered.get(header)
  if (encoding === undefined) {
    encoding = choose(header)
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(header, encoding)
  }
  return encoding
}

/** True when packing so many bytes is worth it. */
export function isWorthPacking(bytes: number): boolean {
  return bytes >= SMALLEST
}

/** Packs bytes; the result is a buffer of its own. */
export function pack(
  bytes: Uint8Array,
  encoding: 'gzip' | 'zstd',
): Uint8Array | Promise<Uint8Array> {
  if (encoding === 'zstd') return platform.compress(bytes)
  return bytes.length > LARGEST_SYNC_GZIP ? gzipAside(bytes, GZIP) : gzipSync(bytes, GZIP)
}

/** Packs a stream. */
export function createPacker(encoding: 'gzip' | 'zstd'): Transform {
  if (encoding === 'gzip') return createGzip(GZIP)
  return createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: LEVEL } })
}

function choose(header: string): Encoding {
  const quality = new Map<string, number>()
  for (const part of header.split(',')) {
    const [name = '', ...params] = part.split(';').map((word) => word.trim().toLowerCase())
    const q = params.find((word) => word.startsWith('q='))
    quality.set(name, q === undefined ? 1 : Number(q.slice(2)) || 0)
  }
  const of = (name: string): number => quality.get(name) ?? quality.get('*') ?? 0
  const best = of('zstd') >= of('gzip') ? 'zstd' : 'gzip'
  const plain = quality.get('identity') ?? 0
  return of(best) > 0 && of(best) >= plain ? best : 'identity'
}
