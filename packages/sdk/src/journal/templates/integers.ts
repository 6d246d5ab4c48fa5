import { corrupt, type ByteReader, type ByteWriter } from './bytes.ts'
import { ValueCounts } from './value-counts.ts'

// A column of whole numbers is stored as what a simple prediction gets wrong. The prediction has a source (nothing, the
// received time, another column of the same messages) and an order (constant, the value before, its slope, the value
// before on the same socket). Of all combinations the one that costs least on a sample is used.

/** What the numbers of a column can be predicted from: values of the same length, in the same order. */
export type Source = {
  /** 0 is none, 1 the received time, n ≥ 2 the column n − 2. */
  readonly id: number
  readonly values: Float64Array
}

/** Times come in seconds, milliseconds and microseconds. */
const SCALES: readonly ((value: number) => number)[] = [
  (value) => value,
  (value) => value * 1000,
  (value) => value * 1_000_000,
  (value) => Math.floor(value / 1000),
  (value) => Math.floor(value / 1_000_000),
]

const CONSTANT = 0
const BEFORE = 1
const SLOPE = 2
const SAME_SOCKET = 3
const ORDERS = [CONSTANT, BEFORE, SLOPE, SAME_SOCKET] as const
// The orders that are tried beside a source.
const BESIDE = [CONSTANT, BEFORE] as const

// Larger differences are not used, so that all of them are exact with their sign folded in.
const MAX_DIFFERENCE = 2 ** 51
const SAMPLE = 512
// Ranks are worth their table where most values are among these.
const MAX_RANKS = 255
const MIN_RANKED_SHARE = 0.5

/** Writes a column. */
export function writeIntegers(
  out: ByteWriter,
  values: Float64Array,
  slots: Uint8Array,
  sources: readonly Source[],
): void {
  const { choice, folded } = choose(values, slots, sources)
  out.byte(choice.source.id)
  out.byte(choice.scale * ORDERS.length + choice.order)
  out.signed(folded.first)
  writeFolded(out, folded.differences)
}

/** Reads a column; `sourceOf` gives what it was predicted from. */
export function readIntegers(
  input: ByteReader,
  count: number,
  slots: Uint8Array,
  sourceOf: (id: number) => Float64Array,
): Float64Array {
  const id = input.byte()
  const code = input.byte()
  const scale = SCALES[Math.floor(code / ORDERS.length)]
  if (scale === undefined) throw corrupt()
  const order = code % ORDERS.length
  const first = input.signed()
  const values = readFolded(input, count)
  unfold(values, slots, order, first)
  if (id > 0) {
    const source = sourceOf(id)
    if (source.length !== count) throw corrupt()
    for (let index = 0; index < count; index++) values[index]! += scale(source[index]!)
  }
  return values
}

type Choice = { readonly source: Source; readonly scale: number; readonly order: number }

const NOTHING: Source = { id: 0, values: new Float64Array(0) }

// The choice that costs least on a sample and is possible for all values.
function choose(
  values: Float64Array,
  slots: Uint8Array,
  sources: readonly Source[],
): { readonly choice: Choice; readonly folded: Folded } {
  const tried: { readonly choice: Choice; readonly cost: number }[] = []
  const sample = Math.min(SAMPLE, values.length)
  for (const source of [NOTHING, ...sources]) {
    const scales = source === NOTHING ? 1 : SCALES.length
    for (let scale = 0; scale < scales; scale++) {
      if (source !== NOTHING && !isNear(values, source.values, SCALES[scale]!)) continue
      for (const order of source === NOTHING ? ORDERS : BESIDE) {
        const choice = { source, scale, order }
        const folded = fold(values, slots, choice, sample)
        if (folded !== undefined) tried.push({ choice, cost: costOf(folded.differences) })
      }
    }
  }
  // Of equal ones the first.
  tried.sort((a, b) => a.cost - b.cost)
  for (const { choice } of tried) {
    const folded = fold(values, slots, choice, values.length)
    if (folded !== undefined) return { choice, folded }
  }
  const choice = { source: NOTHING, scale: 0, order: CONSTANT }
  return { choice, folded: fold(values, slots, choice, values.length)! }
}

// A source is worth a trial where it is about as large as the column.
function isNear(
  values: Float64Array,
  sources: Float64Array,
  scale: (value: number) => number,
): boolean {
  if (values.length === 0) return false
  const value = values[0]!
  return Math.abs(value - scale(sources[0]!)) <= Math.abs(value) / 16
}

type Folded = { readonly first: number; readonly differences: Float64Array }

// The differences with their sign folded in (0, −1, 1, −2 … become 0, 1, 2, 3 …); undefined where one is too large.
function fold(
  values: Float64Array,
  slots: Uint8Array,
  { source, scale, order }: Choice,
  count: number,
): Folded | undefined {
  const differences = new Float64Array(count)
  const isBare = source.id === 0
  const scaled = SCALES[scale]!
  const at = (index: number): number =>
    isBare ? values[index]! : values[index]! - scaled(source.values[index]!)
  const first = count === 0 ? 0 : at(0)
  if (Math.abs(first) >= MAX_DIFFERENCE * 2) return undefined
  const ofSocket = order === SAME_SOCKET ? new Float64Array(256).fill(first) : undefined
  let before = first
  let slope = 0
  for (let index = 0; index < count; index++) {
    const value = at(index)
    let difference: number
    if (order === CONSTANT) difference = value - first
    else if (order === BEFORE) difference = value - before
    else if (order === SLOPE) {
      difference = value - before - slope
      slope = value - before
    } else {
      const slot = slots[index]!
      difference = value - ofSocket![slot]!
      ofSocket![slot] = value
    }
    before = value
    if (Math.abs(difference) >= MAX_DIFFERENCE || Math.abs(value) >= 2 ** 53) return undefined
    differences[index] = difference < 0 ? -2 * difference - 1 : 2 * difference
  }
  return { first, differences }
}

function unfold(values: Float64Array, slots: Uint8Array, order: number, first: number): void {
  const ofSocket = order === SAME_SOCKET ? new Float64Array(256).fill(first) : undefined
  let before = first
  let slope = 0
  for (let index = 0; index < values.length; index++) {
    const folded = values[index]!
    const half = Math.floor(folded / 2)
    const difference = folded - half * 2 === 0 ? half : -half - 1
    let value: number
    if (order === CONSTANT) value = first + difference
    else if (order === BEFORE) value = before + difference
    else if (order === SLOPE) {
      value = before + slope + difference
      slope = value - before
    } else {
      const slot = slots[index]!
      value = ofSocket![slot]! + difference
      ofSocket![slot] = value
    }
    before = value
    values[index] = value
  }
}

// About what an entropy coder needs, in bits: the frequencies of values, and each different value once.
function costOf(differences: Float64Array): number {
  counted.count(differences)
  const { size, values, counts } = counted
  const all = Math.log2(differences.length)
  let bits = 0
  for (let index = 0; index < size; index++) {
    const count = counts[index]!
    bits += count * (all - Math.log2(count)) + Math.log2(values[index]! + 1) + 1
  }
  return bits
}

const counted = new ValueCounts()

const PLANES = 0
const RANKS = 1

// As planes of bytes, or as ranks by frequency where few values are most of them.
function writeFolded(out: ByteWriter, differences: Float64Array): void {
  const ranks = differences.length === 0 ? undefined : rankValues(differences)
  if (ranks === undefined) {
    out.byte(PLANES)
    writePlanes(out, differences)
    return
  }
  const { table, codes, rest } = ranks
  out.byte(RANKS)
  out.unsigned(table.length)
  for (const value of table) out.unsigned(value)
  out.section(codes)
  out.unsigned(rest.length)
  writePlanes(out, rest)
}

function readFolded(input: ByteReader, count: number): Float64Array {
  const form = input.byte()
  if (form === PLANES) return readPlanes(input, count)
  const table = Array.from({ length: input.unsigned() }, () => input.unsigned())
  const codes = input.section(count)
  const restCount = input.unsigned()
  if (codes.length !== count || restCount > count) throw corrupt()
  const rest = readPlanes(input, restCount)
  const values = new Float64Array(count)
  let next = 0
  for (let index = 0; index < count; index++) {
    const code = codes[index]!
    const value = code < table.length ? table[code] : rest[next++]
    if (value === undefined) throw corrupt()
    values[index] = value
  }
  return values
}

type Ranks = {
  readonly table: readonly number[]
  readonly codes: Uint8Array
  /** The values that have no rank. */
  readonly rest: Float64Array
}

function rankValues(differences: Float64Array): Ranks | undefined {
  let isSmall = true
  for (const value of differences) if (value > 255) isSmall = false
  // One plane is as good as ranks.
  if (isSmall) return undefined
  if (!counted.count(differences, differences.length / 2 + MAX_RANKS)) return undefined
  const counts = Array.from({ length: counted.size }, (_, index) => ({
    value: counted.values[index]!,
    count: counted.counts[index]!,
  }))
  const ranks = counts
    .filter(({ count }) => count > 2)
    .sort((one, other) => other.count - one.count || one.value - other.value)
    .slice(0, MAX_RANKS)
  const table = ranks.map(({ value }) => value)
  const ranked = ranks.reduce((sum, { count }) => sum + count, 0)
  if (ranked < differences.length * MIN_RANKED_SHARE) return undefined
  const codeOf = new Map(table.map((value, code) => [value, code]))
  const codes = new Uint8Array(differences.length)
  const rest = new Float64Array(differences.length - ranked)
  let next = 0
  for (let index = 0; index < differences.length; index++) {
    const value = differences[index]!
    const code = codeOf.get(value)
    codes[index] = code ?? table.length
    if (code === undefined) rest[next++] = value
  }
  return { table, codes, rest }
}

function writePlanes(out: ByteWriter, values: Float64Array): void {
  let most = 0
  for (const value of values) if (value > most) most = value
  let width = 0
  for (let limit = 1; most >= limit; limit *= 256) width++
  out.byte(width)
  const rest = values.slice()
  for (let plane = 0; plane < width; plane++) {
    const bytes = new Uint8Array(values.length)
    for (let index = 0; index < values.length; index++) {
      const higher = Math.floor(rest[index]! / 256)
      bytes[index] = rest[index]! - higher * 256
      rest[index] = higher
    }
    out.section(bytes)
  }
}

function readPlanes(input: ByteReader, count: number): Float64Array {
  const width = input.byte()
  if (width > 7) throw corrupt()
  const values = new Float64Array(count)
  let scale = 1
  for (let plane = 0; plane < width; plane++) {
    const bytes = input.section(count)
    if (bytes.length !== count) throw corrupt()
    for (let index = 0; index < count; index++) values[index]! += bytes[index]! * scale
    scale *= 256
  }
  return values
}
