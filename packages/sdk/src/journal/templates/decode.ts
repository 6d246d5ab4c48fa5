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

/** Reads the records of a block that is stored by templates; throws `corrupt_journal` where it contradicts itself. */
export function parseTemplatePayload(header: BlockHeader, stored: Uint8Array): JournalBlock {
  const { count, first, origin, rawBytes } = header
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
  const bytes = new Uint8Array(rawBytes)
  const messages: Uint8Array[] = []
  let at = 0
  let text = 0
  let textAt = 0
  for (let index = 0; index < count; index++) {
    const id = ids[index]!
    const start = at
    if (id === AS_TEXT) {
      const length = lengths[text++]!
      if (textAt + length > texts.length || at + length > rawBytes) throw corrupt()
      bytes.set(texts.subarray(textAt, textAt + length), at)
      textAt += length
      at += length
    } else at = columns.print(bytes, at, id - 1)
    messages.push(bytes.subarray(start, at))
  }
  if (at !== rawBytes || textAt !== texts.length) throw corrupt()
  if (times[count - 1] !== header.lastReceived || times[0] !== header.firstReceived) throw corrupt()
  return {
    kind: 'block',
    first,
    count,
    origin,
    recorder,
    received: Array.from(times) as Micros[],
    ...kindsOf(codes),
    bytes: messages,
  }
}

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

/** The columns of a block, and the messages that they make with the templates. */
class ColumnReader {
  readonly #templates: readonly Template[]
  readonly #places: readonly (readonly number[])[]
  readonly #columns: ColumnData[] = []

  constructor(
    input: ByteReader,
    templates: readonly Template[],
    ids: Uint8Array,
    times: Float64Array,
    codes: Uint8Array,
    rawBytes: number,
  ) {
    this.#templates = templates
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
  print(into: Uint8Array, from: number, template: number): number {
    const shape = this.#templates[template]
    if (shape === undefined) throw corrupt()
    const { pieces, kinds } = shape
    const places = this.#places[template]!
    let at = copy(into, from, pieces[0]!)
    for (let token = 0; token < kinds.length; token++) {
      const column = this.#columns[places[token]!]!
      const index = column.next++
      const kind = kinds[token]!
      if (kind === NUMBER || kind === TIME) {
        const value = column.values[index]!
        const form = column.forms[index]!
        at = kind === NUMBER ? printNumber(into, at, value, form) : printTime(into, at, value, form)
      } else at = copy(into, at, column.texts[column.values[index]!] ?? noSource())
      at = copy(into, at, pieces[token + 1]!)
    }
    return at
  }
}

// Writing beyond the end of a typed array does nothing; the length of all messages is checked at the end.
function copy(into: Uint8Array, from: number, bytes: Uint8Array): number {
  const { length } = bytes
  for (let index = 0; index < length; index++) into[from + index] = bytes[index]!
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
