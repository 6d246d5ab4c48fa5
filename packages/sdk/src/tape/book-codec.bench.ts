/**
 * What a book chunk of 2,048 observations costs, next to two yardsticks of the same run: unpacking its
 * zstd columns and nothing else, and JSON.parse of the same rows.
 * `PRIORBOOK_RECORDINGS=… npx node packages/sdk/src/tape/book-codec.bench.ts`; without recordings a
 * market is invented. Every line is the best of turns that alternate: a neighbour on the same core
 * then hurts all of them.
 */
import { createRandom } from '../../../../bench/lib/random.ts'
import { findRecordings, readObservations } from '../../../../bench/lib/recordings.ts'
import { VENUES } from '../domain/index.ts'
import { BookDecoder, BookEncoder, type ChunkIdentity } from './book-codec.ts'
import { columnOf, NO_HASH, openChunk } from './chunk.ts'
import { ABSENT, BookColumns, HeadColumns, type RowHead } from './columns.ts'
import { encodeHeads, HeadDecoder } from './head-codec.ts'
import { Ladder, levelKey } from './ladder.ts'
import { createNodePlatform } from './platform-node.ts'
import { withoutCompression } from './platform.ts'
import { loadBase } from './run.ts'

const ROWS = 2048
const CHUNKS = 24
const TURNS = 25
const random = createRandom(7)
const fast = createNodePlatform(9)
const tight = createNodePlatform(12)
const raw = withoutCompression(fast)
const identity: ChunkIdentity & { changesBefore: number } = {
  venue: 'venueb',
  market: 'KXGOLD15M-26AUG102130-30',
  key: 'KXGOLD15M-26AUG102130-30',
  origin: 'import',
  recorder: 'bench',
  normalizer: 1,
  first: 1,
  previousHash: NO_HASH,
  changesBefore: 0,
}

const chunks = toChunks()
const encoder = new BookEncoder()
const encodeAt = (columns: BookColumns, platform = tight): Uint8Array => {
  const base = { key: columns.baseKey, size: columns.baseSize }
  return encoder.encode(columns, 0, columns.count, base, identity, platform).bytes
}
const blobs = chunks.map((columns) => encodeAt(columns))
const looseBlobs = chunks.map((columns) => encodeAt(columns, raw))
const opened = blobs.map((bytes) => openChunk(bytes, tight))
const texts = chunks.map((columns) => JSON.stringify(rowsOf(columns)))
const decoder = new BookDecoder()
const heads = new HeadDecoder()
const into = new BookColumns()
const intoHeads = new HeadColumns()
const ladder = new Ladder()
let sum = 0

const lines: readonly (readonly [name: string, run: (at: number) => void])[] = [
  [
    'unpack the columns only',
    (at) => {
      for (let index = 0; index < 16; index++) sum += columnOf(opened[at]!, index, tight).length
    },
  ],
  ['JSON.parse of the same rows', (at) => (sum += (JSON.parse(texts[at]!) as unknown[]).length)],
  ['open (checksum, header)', (at) => (sum += openChunk(blobs[at]!, tight).header.count)],
  ['decode heads, numbers', (at) => heads.decode(opened[at]!, tight, intoHeads, { numbers: true })],
  ['decode, times only', (at) => decoder.decode(opened[at]!, tight, into, { numbers: false })],
  ['decode, numbers', (at) => decoder.decode(opened[at]!, tight, into, { numbers: true })],
  [
    'open + decode, numbers',
    (at) => {
      decoder.decode(openChunk(blobs[at]!, tight), tight, into, { numbers: true })
    },
  ],
  [
    'open + decode, not compressed',
    (at) => {
      decoder.decode(openChunk(looseBlobs[at]!, raw), raw, into, { numbers: true })
    },
  ],
  ['fold decoded rows in a ladder', (at) => fold(chunks[at]!)],
  [
    'replay: open, decode, fold',
    (at) => {
      decoder.decode(openChunk(blobs[at]!, tight), tight, into, { numbers: false })
      fold(into)
    },
  ],
  ['encode heads, not compressed', (at) => (sum += encodeHeads(chunks[at]!, 0, ROWS).facts.count)],
  ['encode, not compressed', (at) => (sum += encodeAt(chunks[at]!, raw).length)],
  ['encode, zstd 9', (at) => (sum += encodeAt(chunks[at]!, fast).length)],
  ['encode, zstd 12', (at) => (sum += encodeAt(chunks[at]!, tight).length)],
]

const best = lines.map(() => Infinity)
for (let turn = 0; turn < TURNS; turn++) {
  for (const [line, [, run]] of lines.entries()) {
    const start = performance.now()
    for (let at = 0; at < chunks.length; at++) run(at)
    best[line] = Math.min(best[line]!, (performance.now() - start) / chunks.length)
  }
}

const bytes = (blobs: readonly Uint8Array[]): string =>
  (blobs.reduce((total, { length }) => total + length, 0) / chunks.length / ROWS).toFixed(2)
const packed = chunks.map((columns) => encodeAt(columns, fast))
const changes = chunks.reduce((total, { changeCount }) => total + changeCount, 0)
console.log(
  `${chunks.length} chunks of ${ROWS}, ${(changes / chunks.length / ROWS).toFixed(2)} changes a row;`,
  `bytes a row: zstd 12 ${bytes(blobs)}, zstd 9 ${bytes(packed)}, as it is ${bytes(looseBlobs)}`,
)
console.log('                                    µs a chunk    M rows/s   × unpack')
for (const [line, [name]] of lines.entries()) {
  const ms = best[line]!
  const cells = [
    name.padEnd(34),
    (ms * 1000).toFixed(1).padStart(12),
    (ROWS / ms / 1000).toFixed(2).padStart(12),
    (ms / best[0]!).toFixed(2).padStart(11),
  ]
  console.log(cells.join(''))
}
if (sum === 0) throw new Error('nothing was measured')

function fold(columns: BookColumns): void {
  loadBase(ladder, columns)
  const { changeEnd, key, size, count } = columns
  let at = 0
  for (let row = 0; row < count; row++) {
    const end = changeEnd[row]!
    for (; at < end; at++) ladder.apply(key[at]!, size[at]!)
    sum += ladder.bestBid + ladder.bestAsk
  }
}

function rowsOf(columns: BookColumns): unknown[] {
  return Array.from({ length: columns.count }, (_, row) => ({
    received: columns.received[row],
    source: columns.source[row],
    seq: columns.venueSeq[row],
    sid: columns.channel[row],
    key: [...columns.key.subarray(columns.changeStart(row), columns.changeEnd[row])],
    size: [...columns.size.subarray(columns.changeStart(row), columns.changeEnd[row])],
  }))
}

type Observed = { readonly head: RowHead; readonly book: ReadonlyMap<number, number> }

/** Whole chunks of one market, each with the book before it. */
function toChunks(): BookColumns[] {
  const folder = process.env['PRIORBOOK_RECORDINGS'] ?? ''
  const chunks: BookColumns[] = []
  let columns = new BookColumns(2)
  let before: ReadonlyMap<number, number> = new Map()
  for (const { head, book } of folder === '' ? invented() : recorded(folder)) {
    const keys = [...new Set([...before.keys(), ...book.keys()])]
    const changed = keys.filter((key) => before.get(key) !== book.get(key))
    const sizes = changed.map((key) => book.get(key) ?? 0)
    columns.push(head, changed, sizes)
    before = book
    if (columns.count < ROWS) continue
    chunks.push(columns)
    if (chunks.length === CHUNKS) break
    columns = new BookColumns(2)
    columns.baseKey = [...book.keys()]
    columns.baseSize = [...book.values()]
  }
  return chunks
}

function* recorded(folder: string): Generator<Observed> {
  const scale = 10 ** (VENUES.venueb.priceDecimals - 2)
  for (const ticker of findRecordings(folder)) {
    for (const seen of readObservations(ticker)) {
      const book = new Map<number, number>()
      seen.bidPrice.forEach((ticks, at) =>
        book.set(levelKey('bid', ticks / scale), seen.bidSize[at]!),
      )
      seen.askPrice.forEach((ticks, at) =>
        book.set(levelKey('ask', ticks / scale), seen.askSize[at]!),
      )
      const head = {
        received: seen.receivedMicros,
        source: seen.sourceMicros ?? ABSENT,
        venueSeq: seen.venueSeq,
        channel: seen.venueSid,
        journal: seen.sequence,
        flags: seen.isSnapshot ? 1 : 0,
      }
      yield { head, book }
    }
  }
}

function* invented(): Generator<Observed> {
  const book = new Map<number, number>()
  let source = 1_785_931_200_000_000
  let seq = 13_000_000
  for (let row = 0; ; row++) {
    if (random.chance(0.6)) source += Math.floor(random.exponential(4000))
    seq += random.geometric(1.5)
    const place = Math.min(29, 1 + Math.floor(random.exponential(8)))
    const key = random.chance(0.5) ? levelKey('bid', 50 - place) : levelKey('ask', 50 + place)
    const size = random.chance(0.2) ? 0 : random.integer(1, 200) * random.pick([100, 100, 100, 13])
    if (size === 0) book.delete(key)
    else book.set(key, size)
    const received = Math.ceil((source + 1500) / 1000) * 1000
    const head = { received, source, venueSeq: seq, channel: 1, journal: row + 1, flags: 0 }
    yield { head, book: new Map(book) }
  }
}
