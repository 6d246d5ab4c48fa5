import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { FLAGS } from '../domain/index.ts'
import { BOOK_COLUMNS, BookDecoder, BookEncoder } from './book-codec.ts'
import { CHUNK_KINDS, CHUNK_VERSION, chunkHash, columnOf, openChunk, type Chunk } from './chunk.ts'
import { BookColumns } from './columns.ts'
import { HEAD_COLUMN_COUNT } from './head-codec.ts'
import { EXTRA_BITS, TOKEN_BASE } from './hybrid.ts'
import { createNodePlatform } from './platform-node.ts'
import { withoutCompression } from './platform.ts'
import { SAMPLE_COLUMNS } from './sample-codec.ts'
import { TRADE_COLUMNS } from './trade-codec.ts'

/** docs/formats/tape.md is what other programs are written from: its example must be what we write. */

const doc = readFileSync(new URL('../../../../docs/formats/tape.md', import.meta.url), 'utf8')
const raw = withoutCompression(createNodePlatform())
const bytes = exampleBytes()
const columns = new BookColumns()
const chunk = openChunk(bytes, raw)
new BookDecoder().decode(chunk, raw, columns, { numbers: true })

describe('the example in the document', () => {
  it('has the rows that its table shows', () => {
    const rows = Array.from({ length: columns.count }, (_, row) => {
      const levels = []
      for (let at = columns.changeStart(row); at < columns.changeEnd[row]!; at++) {
        const key = columns.key[at]!
        levels.push(
          `${key % 2 === 0 ? 'bid' : 'ask'} ${cents(key >>> 1)} → ${cents(columns.size[at]!)}`,
        )
      }
      return [
        chunk.header.first + row,
        columns.received[row],
        columns.source[row],
        columns.venueSeq[row],
        columns.journal[row],
        columns.flags[row] === FLAGS.off_tick ? '`off_tick`' : '',
        levels.join(', '),
      ]
    })
    const lines = rows.map((cells) => `| ${cells.join(' | ')} |`.replace('|  |', '| |'))
    expect(lines.length).toBe(3)
    for (const line of lines) expect(doc.replaceAll('→ 0 |', '→ 0.00 |')).toContain(line)
    expect(columns.baseKey).toStrictEqual([96, 105])
    expect(columns.baseSize).toStrictEqual([10_000, 3000])
    expect(columns.channel[0]).toBe(3)
  })

  it('encodes to the same bytes and the documented hash', () => {
    const base = { key: columns.baseKey, size: columns.baseSize }
    const again = new BookEncoder().encode(columns, 0, columns.count, base, chunk.header, raw)
    expect(hex(again.bytes)).toBe(hex(bytes))
    expect(doc).toContain(`Its hash is \`${hex(again.hash)}\``)
    expect(hex(chunkHash(chunk, raw))).toBe(hex(again.hash))
  })

  it('has its columns at the documented offsets', () => {
    const places = placesOf(chunk)
    const named = [
      ['frame', places[0]],
      ['time', places[1]],
      ['received', places[3]],
      ['numbers', places[5]],
      ['keyframe', places[BOOK_COLUMNS.keyframe]],
      ['counts', places[BOOK_COLUMNS.counts]],
      ['keys', places[BOOK_COLUMNS.keyLow]],
      ['size tokens', places[BOOK_COLUMNS.sizeTokens]],
    ] as const
    for (const [name, place] of named) {
      expect(doc).toContain(`\`${place!.toString(16).padStart(4, '0')}\` ${name}`)
    }
  })
})

describe('the tables of the document', () => {
  it('name the version, the flags and the numbers of columns', () => {
    expect(doc).toContain(`chunk format version ${CHUNK_VERSION}`)
    for (const [name, bit] of Object.entries(FLAGS))
      expect(doc).toContain(`| ${bit} | \`${name}\` |`)
    expect(CHUNK_KINDS).toStrictEqual(['book', 'trade', 'sample'])
    const counts = [BOOK_COLUMNS.sizeValues, TRADE_COLUMNS.ids, SAMPLE_COLUMNS.values]
    const [book, trade, sample] = counts.map((last) => last + 1)
    expect(doc).toContain(`book ${book}, trade ${trade}, sample ${sample}`)
    expect(doc).toContain(`Columns 0 to ${HEAD_COLUMN_COUNT - 1} are the same`)
  })

  it('name the ranges of the hybrid tokens', () => {
    for (const token of [16, 18, 20]) {
      const [low, high] = [TOKEN_BASE[token], TOKEN_BASE[token + 1]]
      expect(doc).toContain(`| ${token}, ${token + 1} | ${low}, ${high} | ${EXTRA_BITS[token]} |`)
    }
  })
})

function exampleBytes(): Uint8Array {
  const block = /```hex\n([^`]*)```/.exec(doc)?.[1] ?? ''
  const digits = block.replaceAll(/^[0-9a-f]{4} {2}/gm, '').replaceAll(/\s/g, '')
  return Buffer.from(digits, 'hex')
}

/** Where the entry of each column starts, its two lengths included. */
function placesOf({ headerBytes, sections }: Chunk): number[] {
  let at = 6 + headerBytes.length + 1
  return sections.map((_, index) => {
    const place = at
    at += 2 + columnOf(chunk, index, raw).length
    return place
  })
}

function cents(value: number): string {
  return (value / 100).toFixed(2)
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
