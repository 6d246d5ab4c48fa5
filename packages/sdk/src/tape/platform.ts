/**
 * What the codec needs from its runtime. Node has all of it built in (`platform-node.ts`); a browser
 * brings its own. Compressed bytes may differ between implementations: hashes are taken before.
 */
export interface TapePlatform {
  compress(raw: Uint8Array): Uint8Array
  /** Must return exactly `rawLength` bytes or throw. */
  decompress(stored: Uint8Array, rawLength: number): Uint8Array
  sha256(parts: readonly Uint8Array[]): Uint8Array
  crc32(bytes: Uint8Array): number
}

/** The same platform without compression, for chunks that will soon be packed again. */
export function withoutCompression(platform: TapePlatform): TapePlatform {
  return { ...platform, compress: (raw) => raw }
}
