import { PriorbookError, type Micros } from '@priorbook/sdk/domain'
import { parseJson } from '../recorder/json.ts'
import { readLines, type RecordingFile } from './recording.ts'

/** One line of a recording with its received time, or the reason why it has none. */
export type RecordedLine = {
  readonly file: RecordingFile
  readonly line: number
  readonly bytes: Uint8Array
  readonly received: Micros
  /** Why the line is not a message, if that is already known. */
  readonly broken?: string
}

/** A truncated file; the lines before the end were yielded. */
export type BrokenEnd = { readonly file: RecordingFile; readonly error: PriorbookError }

/**
 * Reads files side by side in order of received time. A file is opened only when its first message is
 * due, so the number of files is not limited. Lines of one file keep their order; on ties the file
 * named first wins.
 */
export async function* mergeRecordings(
  files: readonly RecordingFile[],
  onBytes: (file: RecordingFile, readSoFar: number) => void,
  onBrokenEnd: (end: BrokenEnd) => void,
): AsyncGenerator<RecordedLine[]> {
  const starts = await Promise.all(files.map(async (file) => ({ file, at: await firstTime(file) })))
  const waiting = starts
    .map((start, index) => ({ ...start, index }))
    .sort((a, b) => a.at - b.at || a.index - b.index)
  const open: Cursor[] = []
  while (waiting.length > 0 || open.length > 0) {
    const next = open.length === 0 ? waiting[0]!.at : Math.min(...open.map((cursor) => cursor.time))
    while (waiting.length > 0 && waiting[0]!.at <= next) {
      const { file, index } = waiting.shift()!
      const cursor = new Cursor(file, index, onBytes, onBrokenEnd)
      if (await cursor.fill()) open.push(cursor)
    }
    if (open.length === 0) continue
    open.sort((a, b) => a.time - b.time || a.index - b.index)
    const first = open[0]!
    const limit = Math.min(open[1]?.time ?? Infinity, waiting[0]?.at ?? Infinity)
    const group = first.shiftUntil(limit)
    if (group.length > 0) yield group
    if (!first.hasLine && !(await first.fill())) open.shift()
  }
}

/** One open file and the lines read ahead of the merge. */
class Cursor {
  readonly index: number
  private readonly file: RecordingFile
  private readonly groups: AsyncGenerator<Uint8Array[]>
  private readonly onBrokenEnd: (end: BrokenEnd) => void
  private lines: RecordedLine[] = []
  private at = 0
  private number = 0
  private received = 0

  constructor(
    file: RecordingFile,
    index: number,
    onBytes: (file: RecordingFile, readSoFar: number) => void,
    onBrokenEnd: (end: BrokenEnd) => void,
  ) {
    this.file = file
    this.index = index
    this.onBrokenEnd = onBrokenEnd
    this.groups = readLines(file, (bytes) => onBytes(file, bytes))
  }

  get hasLine(): boolean {
    return this.at < this.lines.length
  }

  /** The received time of the next line. */
  get time(): number {
    return this.lines[this.at]!.received
  }

  /** Reads the next group of lines; false at the end. */
  async fill(): Promise<boolean> {
    try {
      const { value, done } = await this.groups.next()
      if (done === true) return false
      this.lines = value.map((bytes) => this.toLine(bytes))
      this.at = 0
      return true
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      this.onBrokenEnd({ file: this.file, error })
      return false
    }
  }

  /** The lines up to a time, at least one: this file has the earliest line. */
  shiftUntil(limit: number): RecordedLine[] {
    const from = this.at
    do this.at++
    while (this.at < this.lines.length && this.lines[this.at]!.received <= limit)
    return this.lines.slice(from, this.at)
  }

  private toLine(bytes: Uint8Array): RecordedLine {
    this.number++
    const { file, number: line } = this
    try {
      const received = timeOf(bytes)
      this.received = received
      return { file, line, bytes, received }
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      // A line without a time keeps its position among its neighbours.
      return { file, line, bytes, received: this.received as Micros, broken: error.message }
    }
  }
}

/** Reads a whole line: an object with a received time and a message. */
export function parseLine(bytes: Uint8Array): Record<string, unknown> {
  const parsed = parseJson(bytes)
  receivedOf(parsed)
  return parsed
}

const PREFIX = new TextEncoder().encode('{"recv_ms":')
const COMMA = 44
const ZERO = 48

// Recorded lines start with the time, so ordering them does not need to parse the rest.
function timeOf(bytes: Uint8Array): Micros {
  let at = 0
  while (at < PREFIX.length && bytes[at] === PREFIX[at]) at++
  if (at === PREFIX.length) {
    let millis = 0
    for (; at < bytes.length; at++) {
      const digit = bytes[at]! - ZERO
      if (digit < 0 || digit > 9) break
      millis = millis * 10 + digit
    }
    if (bytes[at] === COMMA && at === PREFIX.length + 13) return (millis * 1000) as Micros
  }
  return receivedOf(parseJson(bytes))
}

function receivedOf(parsed: Record<string, unknown>): Micros {
  const millis = parsed['recv_ms'] ?? parsed['fetched_at_ms']
  if (typeof millis !== 'number' || !Number.isSafeInteger(millis * 1000) || millis <= 0) {
    throw new PriorbookError('invalid_line', 'it has no received time (recv_ms in milliseconds)')
  }
  const hasMessage = typeof parsed['event'] === 'object' || typeof parsed['response'] === 'object'
  if (!hasMessage) throw new PriorbookError('invalid_line', 'it has no event')
  return (millis * 1000) as Micros
}

// Reads only up to the first valid line; a file without one sorts first, and all its lines are reported.
async function firstTime(file: RecordingFile): Promise<number> {
  try {
    for await (const lines of readLines(file, () => undefined)) {
      for (const bytes of lines) {
        try {
          return timeOf(bytes)
        } catch (error) {
          if (!(error instanceof PriorbookError)) throw error
        }
      }
    }
  } catch (error) {
    if (!(error instanceof PriorbookError)) throw error
  }
  return 0
}
