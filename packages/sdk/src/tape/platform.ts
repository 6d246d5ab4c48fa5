/**
 * What the codec needs from its runtime: `platform-node.ts` for Node, an implementation of its own for a
 * browser. Compressed bytes may differ between them, so hashes are of uncompressed bytes.
 */
export interface TapePlatform {
  compress(raw: Uint8Array): Uint8Array
  /** Must return exactly `rawLength` bytes or throw. */
  decompress(stored: Uint8Array, rawLength: number): Uint8Array
  sha256(parts: readonly Uint8Array[]): Uint8Array
  crc32(bytes: Uint8Array): number
}

/** The same platform without compression, for chunks that are encoded again soon. */
export function withoutCompression(platform: TapePlatform): TapePlatform {
  return { ...platform, compress: (raw) => raw }
}
