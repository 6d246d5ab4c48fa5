import type { Columns } from '../columns.ts'
import { ByteWriter } from './bytes.ts'
import { writeIntegers, type Source } from './integers.ts'
import { columnNames, found, matchTemplate, splitMessage, type Template } from './template.ts'
import { NUMBER, TIME } from './tokens.ts'

// A template that few messages have costs more than it saves: these are kept as text.
const MIN_MESSAGES = 4
const MAX_TEMPLATES = 250
/** Messages that are kept as text have this number instead of one of a template. */
export const AS_TEXT = 0

/** The tokens of one name over all messages of a block, in their order. */
type Column = {
  readonly isNumeric: boolean
  readonly values: Float64Array
  readonly forms: Float64Array
  readonly records: Uint32Array
  /** How many were added. */
  count: number
  /** Of texts: those that differ, in the order of their first use. */
  readonly texts: Map<string, number>
  /** Of texts: where the last one is, and its place among them. */
  readonly last: { start: number; end: number; index: number }
}

/** Stores the records of a block by templates and columns; the bytes are valid until the next call. */
export function toTemplatePayload(records: Columns): Uint8Array {
  const shapes = new ShapeList()
  const { count, lengths, bytes } = records
  const tokens = new TokenList(count)
  const shapeOf = new Uint16Array(count)
  for (let index = 0, at = 0; index < count; index++) {
    const shape = shapes.find(bytes, at, at + lengths[index]!)
    shapeOf[index] = shape
    tokens.add(index, shape === 0 ? 0 : found.count)
    at += lengths[index]!
  }
  const { templates, numberOf } = shapes.chosen(shapeOf)
  const ids = shapeOf.map((shape) => numberOf[shape]!)
  const table = new ColumnTable(templates, ids)
  const textLengths: number[] = []
  const texts: Uint8Array[] = []
  for (let index = 0, at = 0; index < count; index++) {
    const id = ids[index]!
    if (id === AS_TEXT) {
      textLengths.push(lengths[index]!)
      texts.push(bytes.subarray(at, at + lengths[index]!))
    } else table.add(id - 1, index, tokens, bytes)
    at += lengths[index]!
  }
  const out = new ByteWriter()
  const { recorder, kinds, received } = records
  out.byte(recorder.length)
  out.bytes(Buffer.from(recorder, 'latin1'))
  const slots = kinds.subarray(0, count)
  out.section(slots)
  const times = received.subarray(0, count)
  writeIntegers(out, times, slots, [])
  writeTemplates(out, templates)
  out.section(Uint8Array.from(ids))
  writeIntegers(out, Float64Array.from(textLengths), new Uint8Array(textLengths.length), [])
  out.section(Buffer.concat(texts))
  table.write(out, times, slots)
  return out.done()
}

/** The tokens of all messages of a block, with their places in its bytes. */
class TokenList {
  /** The first token of each message. */
  readonly first: Uint32Array
  values = new Float64Array(65_536)
  forms = new Uint8Array(65_536)
  starts = new Uint32Array(65_536)
  ends = new Uint32Array(65_536)
  #count = 0

  constructor(messages: number) {
    this.first = new Uint32Array(messages)
  }

  /** Adds the tokens that were found in a message. */
  add(message: number, count: number): void {
    this.first[message] = this.#count
    if (this.#count + count > this.values.length) this.#grow()
    for (let token = 0; token < count; token++) {
      const at = this.#count++
      this.values[at] = found.values[token]!
      this.forms[at] = found.forms[token]!
      this.starts[at] = found.starts[token]!
      this.ends[at] = found.ends[token]!
    }
  }

  #grow(): void {
    const size = this.values.length * 2
    this.values = grown(this.values, new Float64Array(size))
    this.forms = grown(this.forms, new Uint8Array(size))
    this.starts = grown(this.starts, new Uint32Array(size))
    this.ends = grown(this.ends, new Uint32Array(size))
  }
}

function grown<T extends Float64Array | Uint32Array | Uint8Array>(from: T, to: T): T {
  to.set(from)
  return to
}

/** The shapes of the messages of a block. */
class ShapeList {
  readonly #shapes: Template[] = []
  readonly #byText = new Map<string, number>()
  #recent: number[] = []

  /** The number of the shape of a message, from 1; 0 where it has none. */
  find(bytes: Uint8Array, start: number, end: number): number {
    const { length } = this.#recent
    for (let place = 0; place < length; place++) {
      const shape = this.#recent[place]!
      if (!matchTemplate(this.#shapes[shape]!, bytes, start, end)) continue
      if (place > 0) {
        this.#recent.splice(place, 1)
        this.#recent.unshift(shape)
      }
      return shape + 1
    }
    const template = splitMessage(bytes, start, end)
    if (template === undefined) return 0
    const text = `${template.kinds.join()} ${template.pieces.map((one) => Buffer.from(one).toString('latin1')).join('\0')}`
    const known = this.#byText.get(text)
    if (known !== undefined) {
      this.#recent = [known, ...this.#recent.slice(0, MAX_RECENT - 1)]
      return known + 1
    }
    const shape = this.#shapes.length
    if (shape >= MAX_SHAPES) return 0
    this.#shapes.push(template)
    this.#byText.set(text, shape)
    this.#recent = [shape, ...this.#recent.slice(0, MAX_RECENT - 1)]
    return shape + 1
  }

  /** The shapes that become templates, and by the number of a shape that of its template. */
  chosen(shapeOf: Uint16Array): {
    readonly templates: readonly Template[]
    readonly numberOf: Uint8Array
  } {
    const counts = new Uint32Array(this.#shapes.length + 1)
    for (const shape of shapeOf) counts[shape]!++
    const wanted = this.#shapes
      .map((_, index) => index + 1)
      .filter((shape) => counts[shape]! >= MIN_MESSAGES)
      .sort((a, b) => counts[b]! - counts[a]!)
      .slice(0, MAX_TEMPLATES)
    const numberOf = new Uint8Array(this.#shapes.length + 1)
    for (const [index, shape] of wanted.entries()) numberOf[shape] = index + 1
    return { templates: wanted.map((shape) => this.#shapes[shape - 1]!), numberOf }
  }
}

const MAX_RECENT = 8
const MAX_SHAPES = 4096

function createColumn(isNumeric: boolean, size: number): Column {
  return {
    isNumeric,
    values: new Float64Array(size),
    forms: new Float64Array(isNumeric ? size : 0),
    records: new Uint32Array(size),
    count: 0,
    texts: new Map(),
    last: { start: 0, end: -1, index: 0 },
  }
}

class ColumnTable {
  readonly #columns: readonly Column[]
  /** The columns of the tokens of each template. */
  readonly #places: readonly (readonly number[])[]

  /** Columns for the messages of these templates, each given by the number of its template. */
  constructor(templates: readonly Template[], ids: Uint16Array) {
    const messages = new Uint32Array(templates.length + 1)
    for (let index = 0; index < ids.length; index++) messages[ids[index]!]!++
    const byName = new Map<string, number>()
    const isNumeric: boolean[] = []
    const sizes: number[] = []
    this.#places = templates.map((template, index) =>
      columnNames(template).map((name, token) => {
        let column = byName.get(name)
        if (column === undefined) {
          column = sizes.length
          byName.set(name, column)
          const kind = template.kinds[token]!
          isNumeric.push(kind === NUMBER || kind === TIME)
          sizes.push(0)
        }
        sizes[column]! += messages[index + 1]!
        return column
      }),
    )
    this.#columns = sizes.map((size, column) => createColumn(isNumeric[column]!, size))
  }

  /** Adds the tokens of a message. */
  add(template: number, record: number, tokens: TokenList, bytes: Uint8Array): void {
    const places = this.#places[template]!
    const first = tokens.first[record]!
    for (let token = 0; token < places.length; token++) {
      const column = this.#columns[places[token]!]!
      const at = first + token
      const place = column.count++
      column.records[place] = record
      if (column.isNumeric) {
        column.values[place] = tokens.values[at]!
        column.forms[place] = tokens.forms[at]!
      } else column.values[place] = textIndex(column, bytes, tokens.starts[at]!, tokens.ends[at]!)
    }
  }

  write(out: ByteWriter, times: Float64Array, slots: Uint8Array): void {
    out.unsigned(this.#columns.length)
    for (const places of this.#places) for (const column of places) out.unsigned(column)
    const written: Column[] = []
    for (const column of this.#columns) {
      const { isNumeric, records, values } = column
      const ownSlots = pickBytes(slots, records)
      const sources: Source[] = isNumeric
        ? [
            { id: 1, values: pickNumbers(times, records) },
            ...written.flatMap((other, index) => {
              const aligned = other.isNumeric
                ? align(records, other.records, other.values)
                : undefined
              return aligned === undefined ? [] : [{ id: index + 2, values: aligned }]
            }),
          ]
        : []
      writeIntegers(out, values, ownSlots, sources.slice(0, MAX_SOURCES))
      if (isNumeric) writeIntegers(out, column.forms, ownSlots, [])
      else writeTexts(out, [...column.texts.keys()])
      written.push(column)
    }
  }
}

/** The entries of some records; plain loops, because `from` with a function is ten times as slow. */
export function pickNumbers(values: Float64Array, records: ArrayLike<number>): Float64Array {
  const { length } = records
  const picked = new Float64Array(length)
  for (let index = 0; index < length; index++) picked[index] = values[records[index]!]!
  return picked
}

/** The same of bytes. */
export function pickBytes(values: Uint8Array, records: ArrayLike<number>): Uint8Array {
  const { length } = records
  const picked = new Uint8Array(length)
  for (let index = 0; index < length; index++) picked[index] = values[records[index]!]!
  return picked
}

// The place of a text in the list of its column. Most texts are the one before.
function textIndex(column: Column, bytes: Uint8Array, start: number, end: number): number {
  const { last } = column
  if (last.end - last.start === end - start) {
    let at = 0
    while (start + at < end && bytes[start + at] === bytes[last.start + at]) at++
    if (start + at === end) return last.index
  }
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1')
  let index = column.texts.get(text)
  if (index === undefined) {
    index = column.texts.size
    column.texts.set(text, index)
  }
  last.start = start
  last.end = end
  last.index = index
  return index
}

// Every source is tried for every column.
const MAX_SOURCES = 8

/**
 * The values of another column in the same messages, of several the last one; undefined where a message has none. The
 * reader does the same.
 */
export function align(
  records: ArrayLike<number>,
  others: ArrayLike<number>,
  values: Float64Array,
): Float64Array | undefined {
  const aligned = new Float64Array(records.length)
  let at = 0
  for (let index = 0; index < records.length; index++) {
    const record = records[index]!
    while (at < others.length && others[at]! <= record) at++
    if (at === 0 || others[at - 1] !== record) return undefined
    aligned[index] = values[at - 1]!
  }
  return aligned
}

function writeTemplates(out: ByteWriter, templates: readonly Template[]): void {
  const text = new ByteWriter()
  for (const { pieces, kinds } of templates) {
    text.unsigned(kinds.length)
    for (const kind of kinds) text.byte(kind)
    for (const piece of pieces) {
      text.unsigned(piece.length)
      text.bytes(piece)
    }
  }
  out.unsigned(templates.length)
  out.section(text.done())
}

function writeTexts(out: ByteWriter, texts: readonly string[]): void {
  out.unsigned(texts.length)
  const lengths = Float64Array.from(texts, (text) => text.length)
  writeIntegers(out, lengths, new Uint8Array(texts.length), [])
  out.section(Buffer.from(texts.join(''), 'latin1'))
}
