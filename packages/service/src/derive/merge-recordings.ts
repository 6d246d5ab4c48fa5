import { createHash } from 'node:crypto'
import { createReadStream, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline, type Duplex, type Readable } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { PriorbookError, type Micros } from '@priorbook/sdk/domain'
import { parseJson } from '../recorder/notes.ts'

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

/** One file of recorded messages. */
export type RecordingFile = {
  readonly path: string
  readonly bytes: number
  readonly packing: 'plain' | 'gzip' | 'zstd'
  /** Lines of messages, or one recorded answer of the venue's REST interface. */
  readonly form: 'lines' | 'answer'
}

/** The files to import and those that are skipped, each with the reason. */
export type FoundFiles = {
  readonly files: readonly RecordingFile[]
  readonly skipped: readonly { readonly path: string; readonly why: string }[]
}

const NAMES = /\.(ndjson|jsonl|json)(\.gz|\.zst|\.zstd)?$/

/** Finds recordings in files and folders; other file types are reported and skipped. */
export function findRecordings(paths: readonly string[]): FoundFiles {
  const files: RecordingFile[] = []
  const skipped: { path: string; why: string }[] = []
  const visit = (path: string): void => {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat === undefined) {
      throw new PriorbookError('invalid_argument', `${path} does not exist`)
    }
    if (stat.isDirectory()) {
      for (const name of readdirSync(path).sort()) visit(join(path, name))
      return
    }
    const match = NAMES.exec(path)
    if (!stat.isFile() || match === null) {
      skipped.push({ path, why: 'not .ndjson, .jsonl or .json (plain, .gz or .zst)' })
      return
    }
    const packing = match[2] === undefined ? 'plain' : match[2] === '.gz' ? 'gzip' : 'zstd'
    const form = match[1] === 'json' ? 'answer' : 'lines'
    files.push({ path, bytes: stat.size, packing, form })
  }
  for (const path of paths) visit(path)
  return { files, skipped }
}

/** The SHA-256 of a file on disk, by which a second import recognizes it. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer)
  return hash.digest('hex')
}

const NEWLINE = 10

/**
 * Reads a recording in groups of lines without their line ends; an answer is one line. A packed file
 * that ends too early yields its readable lines and then throws `truncated_file`.
 */
async function* readLines(
  file: RecordingFile,
  onBytes: (readSoFar: number) => void,
): AsyncGenerator<Uint8Array[]> {
  let rest: Uint8Array = new Uint8Array(0)
  for await (const piece of readPieces(file, onBytes)) {
    const bytes: Uint8Array = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    if (file.form === 'answer') {
      rest = bytes
      continue
    }
    const lines: Uint8Array[] = []
    let start = 0
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      if (end > start) lines.push(bytes.subarray(start, end))
      start = end + 1
    }
    rest = bytes.subarray(start)
    if (lines.length > 0) yield lines
  }
  if (rest.length > 0) yield [rest]
}

async function* readPieces(
  file: RecordingFile,
  onBytes: (readSoFar: number) => void,
): AsyncGenerator<Uint8Array> {
  let offset = 0
  // Node's zstd stream ends with the first frame; a file may hold several.
  while (offset < file.bytes) {
    const unpack = createUnpack(file.packing)
    const source = createReadStream(file.path, { start: offset, highWaterMark: 262_144 })
    source.on('data', () => onBytes(Math.min(file.bytes, offset + source.bytesRead)))
    const stream: Readable = unpack === undefined ? source : pipe(source, unpack)
    try {
      for await (const piece of stream) yield piece as Uint8Array
    } catch (cause) {
      const code = (cause as { code?: string }).code ?? ''
      if (code === 'ENOENT' || code === 'EACCES') throw cause
      throw new PriorbookError('truncated_file', `${file.path} ends too early or is damaged`, {
        cause,
      })
    }
    if (unpack === undefined || file.packing !== 'zstd') return
    const used = (unpack as Duplex & { bytesWritten: number }).bytesWritten
    if (used === 0) return
    offset += used
  }
}

function pipe(source: Readable, unpack: Duplex): Readable {
  // Errors of both sides surface when the result is read.
  pipeline(source, unpack, () => undefined)
  return unpack
}

function createUnpack(packing: RecordingFile['packing']): Duplex | undefined {
  switch (packing) {
    case 'plain':
      return undefined
    case 'gzip':
      return createGunzip({ chunkSize: 262_144 })
    case 'zstd':
      return createZstdDecompress({ chunkSize: 262_144 })
  }
}
