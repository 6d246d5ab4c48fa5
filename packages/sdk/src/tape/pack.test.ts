import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PriorbookError } from '../domain/index.ts'
import { runsOf } from '../domain/run-counts.testing.ts'
import { chunkHash, columnOf, encodeChunk, NO_HASH, openChunk, type ChunkHeader } from './chunk.ts'
import { encodePack, isPack, Pack, unpackChunk } from './pack.ts'
import { createNodePlatform } from './platform-node.ts'

const platform = createNodePlatform()
const tight = createNodePlatform(19)

/** Chunks of a stream, each with the hash of the one before it; `columns` are those of each chunk. */
function chain(chunks: readonly (readonly Uint8Array[])[]): Uint8Array[] {
  let previousHash = NO_HASH
  let first = 1
  return chunks.map((columns, at) => {
    const header: ChunkHeader = {
      kind: 'book',
      venue: 'venueb',
      market: 'M',
      key: 'K',
      metric: '',
      origin: 'live',
      recorder: 'r1',
      normalizer: 1,
      first,
      count: 10 + at,
      changesBefore: first,
      changes: 3,
      priceDecimals: 2,
      sizeDecimals: 2,
      firstReceived: 1_785_931_200_000_000 + at * 1000,
      lastReceived: 1_785_931_200_000_000 + at * 1000 + 900,
      firstSource: -1,
      lastSource: -1,
      firstJournal: first,
      lastJournal: first + 9,
      previousHash,
    }
    const { bytes, hash } = encodeChunk(header, columns, platform)
    previousHash = hash
    first += header.count
    return bytes
  })
}

function packOf(stored: readonly Uint8Array[]): Uint8Array {
  const chunks = stored.map((bytes) => openChunk(bytes, platform))
  return encodePack(chunks, platform, tight)
}

const text = (length: number, seed: number): Uint8Array =>
  Uint8Array.from({ length }, (_, at) => (at * at * seed) % 23)

describe('a pack', () => {
  it('gives every chunk back byte for byte, with its hash, in any order', () => {
    const column = fc.oneof(
      fc.uint8Array({ maxLength: 50 }),
      fc.tuple(fc.nat(3000), fc.nat(9)).map(([length, seed]) => text(length, seed)),
    )
    const chunks = fc.nat(6).chain((columns) =>
      fc.array(fc.array(column, { minLength: columns, maxLength: columns }), {
        minLength: 1,
        maxLength: 20,
      }),
    )
    fc.assert(
      fc.property(chunks, (all) => {
        const stored = chain(all)
        const bytes = packOf(stored)
        expect(isPack(bytes)).toBe(true)
        const pack = new Pack(bytes, platform)
        expect(pack.count).toBe(stored.length)
        for (const one of stored.toReversed()) {
          const chunk = openChunk(one, platform)
          const packed = pack.chunk(chunk.header.first)!
          expect(packed.header).toStrictEqual(chunk.header)
          for (const index of all[0]!.keys()) {
            const [mine, wanted] = [packed, chunk].map((from) => columnOf(from, index, platform))
            expect(Buffer.compare(mine!, wanted!)).toBe(0)
          }
          const hash = Buffer.from(chunkHash(chunk, platform))
          expect(hash.equals(chunkHash(packed, platform))).toBe(true)
          expect(hash.equals(pack.hashOf(chunk.header.first)!)).toBe(true)
          expect(Buffer.compare(unpackChunk(packed, platform), one)).toBe(0)
        }
        expect(pack.chunk(0)).toBeUndefined()
      }),
      { numRuns: runsOf(40), seed: 3 },
    )
  })

  it('is smaller than its chunks, whose columns have the same few frequent values', () => {
    let state = 7
    const token = (): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      return Math.floor((state / 2_147_483_648) ** 3 * 60)
    }
    const columns = (): Uint8Array[] =>
      [1, 2, 3].map(() => Uint8Array.from({ length: 1000 }, token))
    const stored = chain(Array.from({ length: 16 }, columns))
    const before = stored.reduce((sum, { length }) => sum + length, 0)
    expect(packOf(stored).length).toBeLessThan(before * 0.97)
  })

  it('detects every changed bit and every cut before it gives a row of what was touched', () => {
    const stored = chain(Array.from({ length: 6 }, (_, at) => [text(60, 3), text(5 + at, 7)]))
    const firsts = stored.map((bytes) => openChunk(bytes, platform).header.first)
    const bytes = packOf(stored)
    const readAll = (given: Uint8Array): void => {
      const pack = new Pack(given, platform)
      for (const first of firsts) pack.chunk(first)!
    }
    readAll(bytes)
    for (let at = 0; at < bytes.length; at++) {
      for (const bit of [1, 16, 128]) {
        const damaged = Uint8Array.from(bytes)
        damaged[at]! ^= bit
        expect(codeOf(() => readAll(damaged))).toMatch(/corrupt_chunk|unsupported_format/)
      }
      expect(codeOf(() => readAll(bytes.subarray(0, at)))).toBe('corrupt_chunk')
    }
    expect(codeOf(() => readAll(Uint8Array.of(...bytes, 0)))).toBe('corrupt_chunk')
  })

  it('is refused of no chunks, and of chunks with different columns', () => {
    const stored = [...chain([[text(9, 2)]]), ...chain([[text(9, 2), text(9, 2)]])]
    expect(codeOf(() => packOf([]))).toBe('unrepresentable')
    expect(codeOf(() => packOf(stored))).toBe('unrepresentable')
  })
})

function codeOf(run: () => unknown): string {
  try {
    run()
    return 'none'
  } catch (error) {
    return error instanceof PriorbookError ? error.code : String(error)
  }
}
