import { createHash } from 'node:crypto'
import { createReadStream, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline, type Duplex, type Readable } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { PriorbookError } from '@priorbook/sdk/domain'

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
export async function* readLines(
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
