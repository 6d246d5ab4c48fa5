import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { PriorbookError, type Gap, type Micros } from '@priorbook/sdk/domain'
import { chunkHash, NO_HASH, openChunk, type Chunk, type TapePlatform } from '@priorbook/sdk/tape'
import { createNodePlatform } from '@priorbook/sdk/tape/node'
import type { KnownMarket } from '@priorbook/sdk/wire'
import { appendRevision } from '../embedded/catalog.ts'
import { Database } from '../embedded/database.ts'
import { writePlace } from '../embedded/directory.ts'
import { saveGap } from '../embedded/gaps.ts'
import { recount } from '../embedded/recount.ts'
import { STATE, writeState } from '../embedded/state.ts'
import { createStream, saveStream } from '../embedded/streams.ts'
import { View } from '../embedded/view.ts'
import { makeFolder } from '../../lib/make-folder.ts'
import { cutPiece, firstOf, joinPieces, type JoinedPiece } from './pieces.ts'
import { FolderBodies, PLACE_TABLES } from './folder-bodies.ts'
import { readContainer, type FilePiece } from './read-container.ts'

/** A file of a folder that is not served, and why. */
type RefusedFile = { readonly file: string; readonly code: string; readonly detail: string }

/** The files of a folder that are served and refused. */
export type FolderReport = {
  readonly files: number
  readonly refused: readonly RefusedFile[]
  /** Some of it comes from an emulator. */
  readonly isEmulated: boolean
}

const EMULATED = 'emulated'

/**
 * Reads every file of a folder once and writes an index: an embedded tape whose chunks stay in the
 * files. Truncated or changed containers and files of other kinds are refused by name; the others are
 * served. An index of the same files is reused.
 */
export async function indexFolder(folder: string, indexFile: string): Promise<FolderReport> {
  const files = listFiles(folder)
  const known = readReport(indexFile, files)
  if (known !== undefined) return known
  makeFolder(dirname(indexFile))
  const draft = `${indexFile}.${process.pid}.part`
  removeIndex(draft)
  try {
    const refused = new Map<number, PriorbookError>()
    while (!(await writeIndex(folder, files, draft, refused))) removeIndex(draft)
    removeIndex(indexFile)
    renameSync(draft, indexFile)
  } finally {
    removeIndex(draft)
  }
  return readReport(indexFile, files)!
}

type ListedFile = { readonly name: string; readonly size: number; readonly changed: number }

// Manifests and files that operating systems leave in folders are ignored.
const IGNORED = /(^|\/)\.|\.(json|md|txt|sha256)$/i

function listFiles(folder: string): readonly ListedFile[] {
  let names: string[]
  try {
    names = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() || entry.isSymbolicLink())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
  } catch (cause) {
    const why = (cause as Error).message
    throw new PriorbookError('store_unavailable', `${folder} cannot be read: ${why}`, { cause })
  }
  return names
    .filter((name) => !IGNORED.test(name))
    .sort()
    .flatMap((name) => {
      // A link may point to a folder, or be dangling.
      const found = statSync(join(folder, name), { throwIfNoEntry: false })
      if (found?.isFile() !== true) return []
      return [{ name, size: found.size, changed: Math.floor(found.mtimeMs) }]
    })
}

/** The report of an index, if it matches these files as they are now. */
function readReport(indexFile: string, files: readonly ListedFile[]): FolderReport | undefined {
  if (!existsSync(indexFile)) return undefined
  let index: Database | undefined
  try {
    index = new Database(indexFile, true)
    const rows = index.all('SELECT name, size, changed, code, detail FROM folder_file ORDER BY id')
    const isSame =
      rows.length === files.length &&
      rows.every(({ name, size, changed }, at) => {
        const file = files[at]!
        return file.name === name && file.size === size && file.changed === changed
      })
    if (!isSame) return undefined
    const refused = rows
      .filter(({ code }) => code !== null)
      .map(({ name, code, detail }) => ({
        file: name as string,
        code: code as string,
        detail: detail as string,
      }))
    const emulated = index.get('SELECT value FROM state WHERE name = ?', STATE.fact(EMULATED))
    return { files: files.length - refused.length, refused, isEmulated: emulated !== undefined }
  } catch (error) {
    // An unreadable index is rebuilt.
    if (error instanceof PriorbookError) return undefined
    throw error
  } finally {
    index?.close()
  }
}

/** The contents of all files of a folder. */
type FolderContents = {
  /** Pieces by their stream. */
  readonly streams: ReadonlyMap<string, readonly FilePiece[]>
  readonly markets: readonly KnownMarket[]
  readonly gaps: Iterable<Gap>
  readonly isEmulated: boolean
}

/** Reads all files that are not refused; refuses those that cannot be read. */
async function readFiles(
  folder: string,
  files: readonly ListedFile[],
  refused: Map<number, PriorbookError>,
): Promise<FolderContents> {
  const streams = new Map<string, FilePiece[]>()
  const markets: KnownMarket[] = []
  const gaps = new Map<string, Gap>()
  let isEmulated = false
  for (const [id, { name }] of files.entries()) {
    if (refused.has(id)) continue
    try {
      const contents = await readContainer(join(folder, name), id)
      for (const piece of contents.pieces) {
        const key = `${piece.venue}:${piece.key}/${piece.kind}/${piece.metric}`
        const list = streams.get(key)
        if (list === undefined) streams.set(key, [piece])
        else list.push(piece)
      }
      isEmulated ||= contents.isEmulated
      markets.push(...contents.markets)
      for (const gap of contents.gaps) {
        const { venue, scope, key, start, afterSequence, reason } = gap
        const place = `${venue}/${scope}/${key}/${start}/${afterSequence}/${reason}`
        if (gaps.get(place)?.end === undefined) gaps.set(place, gap)
      }
    } catch (error) {
      refused.set(id, toRefusal(error))
    }
  }
  return { streams, markets, gaps: gaps.values(), isEmulated }
}

/** Writes the index of all files but the refused ones; false where one more has to be refused. */
async function writeIndex(
  folder: string,
  files: readonly ListedFile[],
  draft: string,
  refused: Map<number, PriorbookError>,
): Promise<boolean> {
  const { streams, markets, gaps, isEmulated } = await readFiles(folder, files, refused)
  const index = new Database(draft, false)
  try {
    index.script(PLACE_TABLES)
    index.write(() => {
      for (const [id, { name, size, changed }] of files.entries()) {
        const error = refused.get(id)
        index.run(
          'INSERT INTO folder_file (id, name, size, changed, code, detail) VALUES (?, ?, ?, ?, ?, ?)',
          id,
          name,
          size,
          changed,
          error?.code ?? null,
          error?.message ?? null,
        )
      }
      writeState(index, STATE.version, 1)
      if (isEmulated) writeState(index, STATE.fact(EMULATED), 1)
      for (const gap of gaps) saveGap(index, gap)
      writeMarkets(index, markets)
    })
    index.write(() => {
      const writer = new StreamWriter(folder, index, createNodePlatform())
      try {
        for (const pieces of streams.values()) writer.write(pieces)
      } finally {
        writer.close()
      }
    })
    countRows(folder, index)
    // A single file without a write-ahead log can be renamed atomically.
    index.script('PRAGMA wal_checkpoint(TRUNCATE)')
    return true
  } catch (error) {
    if (!(error instanceof UnreadablePiece)) throw error
    refused.set(error.file, error.why)
    return false
  } finally {
    index.close()
  }
}

function countRows(folder: string, index: Database): void {
  const bodies = new FolderBodies(folder, index)
  try {
    const view = new View(index, createNodePlatform(), { readBody: bodies.read })
    index.read(() => view.refresh())
    recount(view)
  } finally {
    bodies.close()
  }
}

/** Why a file is not served: its contents, or a read error of the system. */
function toRefusal(error: unknown): PriorbookError {
  if (error instanceof PriorbookError) return error
  const { code, message } = error as NodeJS.ErrnoException
  if (typeof code !== 'string') throw error
  return new PriorbookError('store_unavailable', message, { cause: error })
}

function writeMarkets(index: Database, markets: readonly KnownMarket[]): void {
  // Each file contains the versions of its range, and those of older builds only the newest at their download.
  const sorted = markets.toSorted((left, right) => left.knownAt - right.knownAt)
  const counts = new Map<string, number>()
  for (const { record, knownAt } of sorted) {
    const name = `${record.venue}:${record.marketId}`
    const journal = (counts.get(name) ?? 0) + 1
    const received = knownAt as Micros
    if (appendRevision(index, { kind: 'market', received, journal, record })) {
      counts.set(name, journal)
    }
  }
}

/** Rows of a file that cannot be read although every checksum of it holds. */
class UnreadablePiece extends Error {
  readonly file: number
  readonly why: PriorbookError

  constructor(file: number, why: PriorbookError) {
    super('a piece of a file cannot be read')
    this.file = file
    this.why = why
  }
}

class StreamWriter {
  private readonly index: Database
  private readonly platform: TapePlatform
  private readonly bodies: FolderBodies
  private readonly folder: string
  private nextBody = 1

  constructor(folder: string, index: Database, platform: TapePlatform) {
    this.folder = folder
    this.index = index
    this.platform = platform
    this.bodies = new FolderBodies(folder, index)
  }

  close(): void {
    this.bodies.close()
  }

  write(pieces: readonly FilePiece[]): void {
    const joined = joinPieces(pieces)
    const first = joined[0]!
    const last = joined.at(-1)!
    const lastSealed = joined.findLast(({ piece }) => piece.isSealed)
    const { venue, market, key, kind, metric } = first.piece
    const { origin, recorder, normalizer } = last.piece
    const created = createStream(
      this.index,
      { venue, market, key, kind, metric },
      { origin, recorder, normalizer },
      { generation: 1, knownFrom: first.piece.firstReceived, next: firstOf(first) },
    )
    let changes: number | undefined
    let next = 0
    let head = NO_HASH
    let anchor = NO_HASH
    for (const one of joined) {
      const follows = firstOf(one) === next
      const placed = this.place(created.id, one, follows ? changes : undefined)
      next = firstOf(one) + one.to - one.from
      changes = placed.changesBefore + placed.changes
      if (one === lastSealed) {
        head = this.read(one.piece, (chunk) => chunkHash(chunk, this.platform))
      }
      if (one === first && one.piece.isSealed) {
        anchor = new Uint8Array(this.open(one.piece).header.previousHash)
      }
    }
    saveStream(this.index, { ...created, next, changes: changes ?? 0, head, anchor, version: 1 })
  }

  /** References a whole piece, or repacks its selected rows. */
  private place(
    stream: number,
    one: JoinedPiece,
    changesBefore: number | undefined,
  ): { readonly changesBefore: number; readonly changes: number } {
    const { piece, from, to } = one
    const body = this.nextBody++
    const isWhole = from === 0 && to === piece.count
    const isCounted = changesBefore === undefined || changesBefore === piece.changesBefore
    if (piece.isSealed || (isWhole && isCounted)) {
      const { file, offset, length, first, count, firstReceived, lastReceived } = piece
      this.index.run(
        'INSERT INTO folder_place (body, file, start, length) VALUES (?, ?, ?, ?)',
        body,
        file,
        offset,
        length,
      )
      const place = { stream, first, count, firstReceived, lastReceived, body }
      const form = piece.isSealed ? 'sealed' : 'tight'
      writePlace(this.index, { ...place, changesBefore: piece.changesBefore, form })
      return piece
    }
    const bytes = this.read(piece, (chunk) =>
      cutPiece(chunk, from, to, changesBefore, this.platform),
    )
    this.index.run('INSERT INTO body (id, bytes) VALUES (?, ?)', body, bytes)
    const { header } = openChunk(bytes, this.platform)
    const { first, count, firstReceived, lastReceived } = header
    const place = { stream, first, count, firstReceived, lastReceived, body }
    writePlace(this.index, { ...place, changesBefore: header.changesBefore, form: 'tight' })
    return header
  }

  /** Works on the columns of a piece; throws `UnreadablePiece`. */
  private read(piece: FilePiece, work: (chunk: Chunk) => Uint8Array): Uint8Array {
    const chunk = this.open(piece)
    try {
      return work(chunk)
    } catch (cause) {
      // Numbers of a crafted header may exceed what memory can be asked for.
      const isKnown = cause instanceof PriorbookError
      const detail = 'a chunk cannot be decoded'
      const why = isKnown ? cause : new PriorbookError('corrupt_chunk', detail, { cause })
      throw new UnreadablePiece(piece.file, why)
    }
  }

  private open(piece: FilePiece): Chunk {
    const bytes = this.bodies.readPlace(piece.file, piece.offset, piece.length)
    if (bytes === undefined) {
      throw new PriorbookError(
        'store_unavailable',
        `${this.folder}: a file changed while it was read`,
      )
    }
    return openChunk(bytes, this.platform)
  }
}

function removeIndex(file: string): void {
  for (const ending of ['', '-wal', '-shm']) rmSync(`${file}${ending}`, { force: true })
}
