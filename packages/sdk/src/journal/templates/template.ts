import {
  DIGITS,
  endOfDigits,
  endOfText,
  NUMBER,
  parseNumber,
  parsed,
  parseTime,
  TEXT,
  TIME,
} from './tokens.ts'

/** The constant text of messages of one shape; one token stands between each two pieces. */
export type Template = {
  readonly pieces: readonly Uint8Array[]
  /** The kind of each token: one less than pieces. */
  readonly kinds: readonly number[]
}

/** The tokens of the last message that was split or matched, with their places in the bytes. */
export const found = {
  count: 0,
  kinds: new Uint8Array(256),
  values: new Float64Array(256),
  forms: new Uint8Array(256),
  starts: new Uint32Array(256),
  ends: new Uint32Array(256),
}

/** Max tokens of a template; messages with more, such as whole books, are kept as text. */
const MAX_TOKENS = 64
const QUOTE = 34
const COLON = 58
const SPACE = 32
const MINUS = 45

/** Splits a message, which is a part of some bytes, into constant text and tokens; undefined where it has none or too many. */
export function splitMessage(bytes: Uint8Array, start: number, end: number): Template | undefined {
  const pieces: Uint8Array[] = []
  let at = start
  let piece = start
  found.count = 0
  const take = (kind: number, from: number, to: number): void => {
    pieces.push(bytes.slice(piece, from))
    keep(kind, from, to)
    piece = to
    at = to
  }
  while (at < end) {
    const byte = bytes[at]!
    if (byte === QUOTE) {
      const to = endOfText(bytes, at + 1, end)
      if (to >= end) break
      if (isKey(bytes, to + 1, end)) at = to + 1
      else {
        take(kindOf(bytes, at + 1, to), at + 1, to)
        at = to + 1
      }
    } else if (byte === MINUS || (byte >= 48 && byte <= 57)) {
      if (parseNumber(bytes, at, end)) take(NUMBER, at, parsed.end)
      else {
        const to = endOfDigits(bytes, at, end)
        if (to > at) take(DIGITS, at, to)
        else at++
      }
    } else at++
    if (found.count > MAX_TOKENS) return undefined
  }
  if (found.count === 0) return undefined
  pieces.push(bytes.slice(piece, end))
  return { pieces, kinds: [...found.kinds.subarray(0, found.count)] }
}

/** True where a message has the shape of a template; its tokens are then in `found`. */
export function matchTemplate(
  { pieces, kinds }: Template,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  let at = start
  found.count = 0
  for (let index = 0; index < pieces.length; index++) {
    const piece = pieces[index]!
    const { length } = piece
    if (at + length > end) return false
    for (let place = 0; place < length; place++) {
      if (piece[place] !== bytes[at + place]) return false
    }
    at += length
    if (index === kinds.length) break
    const kind = kinds[index]!
    const from = at
    if (kind === NUMBER) {
      if (!parseNumber(bytes, at, end)) return false
      at = parsed.end
    } else if (kind === TIME) {
      if (!parseTime(bytes, at, end)) return false
      at = parsed.end
    } else at = kind === TEXT ? endOfText(bytes, at, end) : endOfDigits(bytes, at, end)
    keep(kind, from, at)
  }
  return at === end
}

function keep(kind: number, start: number, end: number): void {
  const index = found.count++
  found.kinds[index] = kind
  found.values[index] = parsed.value
  found.forms[index] = parsed.form
  found.starts[index] = start
  found.ends[index] = end
}

// What is inside quotation marks: a number or a time where it is nothing else.
function kindOf(bytes: Uint8Array, from: number, to: number): number {
  if (parseNumber(bytes, from, to) && parsed.end === to) return NUMBER
  if (parseTime(bytes, from, to) && parsed.end === to) return TIME
  return TEXT
}

function isKey(bytes: Uint8Array, from: number, to: number): boolean {
  let at = from
  while (at < to && bytes[at] === SPACE) at++
  return at < to && bytes[at] === COLON
}

/** The name of the column of each token: its key in the message, and which one of equal ones it is. */
export function columnNames({ pieces, kinds }: Template): string[] {
  const seen = new Map<string, number>()
  return kinds.map((kind, index) => {
    const text = Buffer.from(pieces[index]!).toString('latin1')
    const key = /"([^"]*)"\s*:\s*[["\s{]*$/.exec(text)?.[1] ?? text.slice(-8)
    const name = `${kind} ${key}`
    const count = seen.get(name) ?? 0
    seen.set(name, count + 1)
    return count === 0 ? name : `${name} ${count}`
  })
}
