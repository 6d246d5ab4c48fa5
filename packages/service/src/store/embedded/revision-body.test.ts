import { constants, createZstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { packRevision, unpackRevision } from './revision-body.ts'

const LENGTHS = [0, 1, 255, 256, 257, 700, 65_791, 65_792, 300_000]
const textOf = (length: number): string =>
  Array.from({ length }, (_, at) => String.fromCodePoint(97 + ((at * at) % 26))).join('')
const toText = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

it.each(LENGTHS)('a text of %i bytes is what zlib reads and comes back', (length) => {
  const text = textOf(length)
  const whole = packRevision(text)
  expect(zstdDecompressSync(whole).toString()).toBe(text)
  expect(toText(unpackRevision(whole))).toBe(text)
  const dictionary = Buffer.from(`${text}earlier`)
  const part = packRevision(text, dictionary)
  expect(toText(unpackRevision(part, dictionary))).toBe(text)
})

it.each([131_072, 131_073])('reads with a dictionary of %i bytes what zlib reads', (length) => {
  const dictionary = Buffer.from(textOf(length))
  const text = `${textOf(length - 5).slice(700)} and more`
  const part = packRevision(text, dictionary)
  expect(part.length).toBeLessThan(200)
  expect(zstdDecompressSync(part, { dictionary }).toString()).toBe(text)
  expect(toText(unpackRevision(part, dictionary))).toBe(text)
})

it('reads with a dictionary a frame that has a checksum', () => {
  const dictionary = Buffer.from(textOf(700))
  const params = { [constants.ZSTD_c_checksumFlag]: 1 }
  const part = zstdCompressSync(`${textOf(700)}!`, { dictionary, params })
  expect(toText(unpackRevision(part, dictionary))).toBe(`${textOf(700)}!`)
})

it('refuses with a dictionary a frame that is cut off', () => {
  const dictionary = Buffer.from(textOf(700))
  const part = packRevision(`${textOf(690)} and more`, dictionary)
  expect(() => unpackRevision(part.subarray(0, -2), dictionary)).toThrow(/end of file|frame/)
  expect(toText(unpackRevision(part, dictionary))).toBe(`${textOf(690)} and more`)
})

it('reads a frame that does not say its length', async () => {
  const stream = createZstdCompress()
  stream.write('first ')
  stream.end('last')
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(part as Buffer)
  expect(toText(unpackRevision(Buffer.concat(parts)))).toBe('first last')
})

it('refuses frames that are cut off, longer than they say, or no frames', () => {
  const frame = zstdCompressSync(textOf(700))
  const longer = Buffer.from(frame)
  longer[5] = longer[5]! - 1
  for (const bad of [frame.subarray(0, -2), frame.subarray(0, 5), longer, Buffer.from('{}')]) {
    expect(() => unpackRevision(bad)).toThrow(/end of file|corruption|frame/)
  }
  expect(toText(unpackRevision(frame))).toBe(textOf(700))
})
