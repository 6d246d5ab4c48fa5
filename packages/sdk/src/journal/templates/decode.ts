import type { Micros } from '../../domain/index.ts'
import {
  MAX_RECORD_BYTES,
  MAX_SLOT,
  type BlockHeader,
  type JournalBlock,
  type RecordKind,
} from '../record.ts'
import { ByteReader, corrupt } from './bytes.ts'
import { align, AS_TEXT, pickBytes, pickNumbers } from './encode.ts'
import { readIntegers } from './integers.ts'
import type { Template } from './template.ts'
import { NUMBER, printNumber, printTime, TIME } from './tokens.ts'

const NOTE = 1

/**
 * Reads the records of a block that is stored by templates, or only those of some numbers: printing is most of the work.
 * Throws `corrupt_journal` where the block contradicts itself.
 */
export function parseTemplatePayload(
  header: BlockHeader,
  stored: Uint8Array,
  from = 0,
  to = Infinity,
): JournalBlock {
  const { count, origin, rawBytes } = header
  const input = new ByteReader(stored)
  const recorder = Buffer.from(input.bytes(input.byte())).toString('latin1')
  const codes = input.section(count)
  if (codes.length !== count || rawBytes > MAX_RECORD_BYTES * 2) throw corrupt()
  const times = readIntegers(input, count, codes, noSource)
  const templates = readTemplates(input, rawBytes)
  const ids = input.section(count)
  if (ids.length !== count) throw corrupt()
  const asText = countOf(ids, AS_TEXT)
  const lengths = readIntegers(input, asText, new Uint8Array(asText), noSource)
  const texts = input.section(rawBytes)
  const columns = new ColumnReader(input, templates, ids, times, codes, rawBytes)
  if (!input.isAtEnd) throw corrupt()
  const start = Math.max(0, from - header.first)
  const end = Math.min(count, to - header.first + 1)
  const bytes = printMessages({ ids, lengths, texts, columns, rawBytes }, start, end)
  if (times[count - 1] !== header.lastReceived || times[0] !== header.firstReceived) throw corrupt()
  return {
    kind: 'block',
    first: header.first + start,
    count: Math.max(0, end - start),
    origin,
    recorder,
    received: Array.from(times.subarray(start, end)) as Micros[],
    ...kindsOf(codes.subarray(start, end)),
    bytes,
  }
}

type Parts = {
  readonly ids: Uint8Array
  readonly lengths: Float64Array
  readonly texts: Uint8Array
  readonly columns: ColumnReader
  readonly rawBytes: number
}

// The messages from one place up to another.
function printMessages(parts: Parts, start: number, end: number): Uint8Array[] {
  const { ids, lengths, texts, columns, rawBytes } = parts
  const { buffer } = new Uint8Array(rawBytes + SPARE_BYTES)
  const output: Output = { bytes: new Uint8Array(buffer, 0, rawBytes), view: new DataView(buffer) }
  const messages: Uint8Array[] = []
  let at = 0
  let text = 0
  let textAt = 0
  for (let index = 0; index < end; index++) {
    const id = ids[index]!
    const from = at
    const isWanted = index >= start
    if (id === AS_TEXT) {
      const length = lengths[text++]!
      if (textAt + length > texts.length || at + length > rawBytes) throw corrupt()
      if (isWanted) {
        output.bytes.set(texts.subarray(textAt, textAt + length), at)
        at += length
      }
      textAt += length
    } else if (isWanted) at = columns.print(output, at, id - 1)
    else columns.skip(id - 1)
    if (isWanted) messages.push(output.bytes.subarray(from, at))
  }
  const isWhole = start === 0 && end === ids.length
  if (at > rawBytes || (isWhole && (at !== rawBytes || textAt !== texts.length))) throw corrupt()
  return messages
}

// Where messages are printed: constant text four bytes at once, so that up to three bytes are written behind its end.
type Output = { readonly bytes: Uint8Array; readonly view: DataView }
const WORD = 4
const SPARE_BYTES = WORD

function noSource(): never {
  throw corrupt()
}

function kindsOf(codes: Uint8Array): { kinds: RecordKind[]; slots: number[] } {
  const kinds: RecordKind[] = []
  const slots: number[] = []
  for (const code of codes) {
    if (code > MAX_SLOT + 1) throw corrupt()
    kinds.push(code === NOTE ? 'note' : 'message')
    slots.push(code <= NOTE ? 0 : code - 1)
  }
  return { kinds, slots }
}

function countOf(ids: Uint8Array, wanted: number): number {
  let count = 0
  for (const id of ids) if (id === wanted) count++
  return count
}

function readTemplates(input: ByteReader, max: number): readonly Template[] {
  const count = input.unsigned()
  const text = new ByteReader(input.section(max * 2 + 65_536))
  const templates: Template[] = []
  for (let index = 0; index < count; index++) {
    const kinds = [...text.bytes(text.unsigned())]
    const pieces: Uint8Array[] = []
    for (let piece = 0; piece <= kinds.length; piece++) pieces.push(text.bytes(text.unsigned()))
    templates.push({ pieces, kinds })
  }
  return templates
}

type ColumnData = {
  readonly values: Float64Array
  readonly forms: Float64Array
  readonly texts: readonly Uint8Array[]
  next: number
}

/** The constant text of a template, each piece at a multiple of four bytes. */
type Pieces = {
  readonly words: Int32Array
  readonly starts: Uint32Array
  readonly lengths: Uint32Array
}

function toPieces({ pieces }: Template): Pieces {
  const starts = new Uint32Array(pieces.length)
  let size = 0
  for (const [index, piece] of pieces.entries()) {
    starts[index] = size
    size += Math.ceil(piece.length / WORD)
  }
  const words = new Int32Array(size)
  const bytes = new Uint8Array(words.buffer)
  for (const [index, piece] of pieces.entries()) bytes.set(piece, starts[index]! * WORD)
  return { words, starts, lengths: Uint32Array.from(pieces, (piece) => piece.length) }
}

/** The columns of a block, and the messages that they make with the templates. */
class ColumnReader {
  readonly #templates: readonly Template[]
  readonly #places: readonly (readonly number[])[]
  readonly #columns: ColumnData[] = []
  readonly #pieces: readonly Pieces[]

  constructor(
    input: ByteReader,
    templates: readonly Template[],
    ids: Uint8Array,
    times: Float64Array,
    codes: Uint8Array,
    rawBytes: number,
  ) {
    this.#templates = templates
    this.#pieces = templates.map(toPieces)
    const count = input.unsigned()
    this.#places = templates.map(({ kinds }) => kinds.map(() => input.unsigned()))
    const isNumeric = new Uint8Array(count)
    for (const [index, { kinds }] of templates.entries()) {
      for (const [token, kind] of kinds.entries()) {
        const column = this.#places[index]![token]!
        if (column >= count) throw corrupt()
        if (kind === NUMBER || kind === TIME) isNumeric[column] = 1
      }
    }
    const records = recordsOf(this.#places, ids, count)
    for (let column = 0; column < count; column++) {
      const own = records[column]!
      const slots = pickBytes(codes, own)
      const sourceOf = (id: number): Float64Array => {
        if (id === 1) return pickNumbers(times, own)
        const other = this.#columns[id - 2]
        if (other === undefined) throw corrupt()
        return align(own, records[id - 2]!, other.values) ?? noSource()
      }
      const values = readIntegers(input, own.length, slots, sourceOf)
      const forms =
        isNumeric[column] === 1
          ? readIntegers(input, own.length, slots, noSource)
          : new Float64Array(0)
      const texts = isNumeric[column] === 1 ? [] : readTexts(input, rawBytes)
      this.#columns.push({ values, forms, texts, next: 0 })
    }
  }

  /** Prints the next message of a template; returns where it ends. */
  print(output: Output, from: number, template: number): number {
    const shape = this.#templates[template]
    if (shape === undefined) throw corrupt()
    const { kinds } = shape
    const pieces = this.#pieces[template]!
    const places = this.#places[template]!
    const { bytes } = output
    let at = printPiece(output, from, pieces, 0)
    for (let token = 0; token < kinds.length; token++) {
      const column = this.#columns[places[token]!]!
      const index = column.next++
      const kind = kinds[token]!
      if (kind === NUMBER || kind === TIME) {
        const value = column.values[index]!
        const form = column.forms[index]!
        at =
          kind === NUMBER ? printNumber(bytes, at, value, form) : printTime(bytes, at, value, form)
      } else at = copy(bytes, at, column.texts[column.values[index]!] ?? noSource())
      at = printPiece(output, at, pieces, token + 1)
    }
    return at
  }

  /** Passes over the next message of a template. */
  skip(template: number): void {
    const places = this.#places[template]
    if (places === undefined) throw corrupt()
    for (let token = 0; token < places.length; token++) this.#columns[places[token]!]!.next++
  }
}

// Throws a RangeError where a damaged block would be longer than it says.
function printPiece({ view }: Output, from: number, pieces: Pieces, index: number): number {
  const { words, starts, lengths } = pieces
  const length = lengths[index]!
  let word = starts[index]!
  for (let at = 0; at < length; at += WORD) view.setInt32(from + at, words[word++]!, IS_LITTLE)
  return from + length
}

// Words are read and written in the order of this machine, so their bytes are never swapped.
const IS_LITTLE = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1
const LONG_TEXT = 48

// Writing beyond the end of a typed array does nothing; the length of all messages is checked at the end.
function copy(into: Uint8Array, from: number, bytes: Uint8Array): number {
  const { length } = bytes
  if (length > LONG_TEXT && from + length <= into.length) into.set(bytes, from)
  else for (let index = 0; index < length; index++) into[from + index] = bytes[index]!
  return from + length
}

// In which messages each column has values, in order.
function recordsOf(
  places: readonly (readonly number[])[],
  ids: Uint8Array,
  columns: number,
): readonly Uint32Array[] {
  const counts = new Uint32Array(columns)
  const uses = new Uint32Array(256)
  for (let record = 0; record < ids.length; record++) uses[ids[record]!]!++
  for (let id = 1; id < uses.length; id++) {
    if (uses[id] === 0) continue
    const own = places[id - 1]
    if (own === undefined) throw corrupt()
    for (const column of own) counts[column]! += uses[id]!
  }
  const records = Array.from(counts, (count) => new Uint32Array(count))
  counts.fill(0)
  for (let record = 0; record < ids.length; record++) {
    const id = ids[record]!
    if (id === AS_TEXT) continue
    const own = places[id - 1]!
    for (let token = 0; token < own.length; token++) {
      const column = own[token]!
      records[column]![counts[column]!++] = record
    }
  }
  return records
}

function readTexts(input: ByteReader, max: number): readonly Uint8Array[] {
  const count = input.unsigned()
  if (count > max + 1) throw corrupt()
  const lengths = readIntegers(input, count, new Uint8Array(count), noSource)
  const bytes = input.section(max)
  const texts: Uint8Array[] = []
  let at = 0
  for (const length of lengths) {
    if (!(length >= 0) || at + length > bytes.length) throw corrupt()
    texts.push(bytes.subarray(at, at + length))
    at += length
  }
  return texts
}
