import { createHash } from 'node:crypto'
import { mkdtemp, open, rm, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '@priorbook/sdk/wire'
import { unlessAborted } from '../../lib/wait.ts'
import type { FileFacts, KeptFile, TempReservation, TempSpace } from '../route.ts'
import { isDiskFull } from './temp-space.ts'

const PIECE = 131_072
// Each has an open file; beyond this many, those that nobody reads are let go.
const MAX_FILES = 64

/**
 * Files on disk from which parts are sent, so that all parts with one entity tag are bytes of one file: a file that is
 * made again may differ, such as a tape whose rows were sealed meanwhile. They are unlinked as soon as they are open, so
 * that nothing is left of them when the process ends.
 */
export class KeptFiles {
  readonly #space: TempSpace
  readonly #now: () => number
  readonly #maxAge: number
  readonly #files = new Map<string, OpenFile>()
  readonly #making = new Map<string, Promise<OpenFile | undefined>>()

  /** Files are used for so many microseconds. */
  constructor(space: TempSpace, now: () => number, maxAge: number) {
    this.#space = space
    this.#now = now
    this.#maxAge = maxAge
    space.onFull(() => this.#evictOne())
  }

  /** The file of a key, if it is kept. */
  get(key: string): KeptFile | undefined {
    const file = this.#files.get(key)
    if (file === undefined) return undefined
    if (this.#now() - file.madeAt <= this.#maxAge) return file
    this.#drop(key)
    return undefined
  }

  /** Makes the file of a key, unless it is kept or being made; undefined where there is no space for it. */
  async keep(
    key: string,
    make: () => AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<KeptFile | undefined> {
    for (;;) {
      signal.throwIfAborted()
      const kept = this.get(key)
      if (kept !== undefined) return kept
      const making = this.#making.get(key)
      if (making === undefined) return this.#begin(key, make, signal)
      // A client that went away must not end the work of others: they make the file themselves.
      const made = await unlessAborted(
        making.catch(() => 'failed' as const),
        signal,
      )
      if (made !== 'failed') return made
    }
  }

  async #begin(
    key: string,
    make: () => AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<OpenFile | undefined> {
    const making = this.#write(make(), signal)
    this.#making.set(key, making)
    try {
      const file = await making
      if (file !== undefined) {
        while (this.#files.size >= MAX_FILES && this.#evictOne());
        this.#files.set(key, file)
        setTimeout(() => this.#dropOld(key, file), this.#maxAge / 1000).unref()
      }
      return file
    } finally {
      this.#making.delete(key)
    }
  }

  async #write(
    pieces: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<OpenFile | undefined> {
    const space = this.#space.reserve()
    let handle: FileHandle | undefined
    try {
      handle = await openUnlinked()
      const hash = createHash('sha256')
      let bytes = 0
      for await (const piece of pieces) {
        space.add(piece.length)
        hash.update(piece)
        await handle.appendFile(piece)
        bytes += piece.length
      }
      signal.throwIfAborted()
      return new OpenFile(handle, space, { bytes, sha256: hash.digest('hex') }, this.#now())
    } catch (error) {
      space.release()
      await handle?.close()
      if (error instanceof Problem || isDiskFull(error)) return undefined
      throw error
    }
  }

  #dropOld(key: string, file: OpenFile): void {
    if (this.#files.get(key) === file) this.#drop(key)
  }

  #drop(key: string): void {
    const file = this.#files.get(key)
    this.#files.delete(key)
    file?.discard()
  }

  // Files that are being read give their space back only when they were read.
  #evictOne(): boolean {
    for (const [key, file] of this.#files) {
      if (file.isRead) continue
      this.#drop(key)
      return true
    }
    return false
  }
}

async function openUnlinked(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'priorbook-part-'))
  try {
    return await open(join(folder, 'file'), 'wx+', 0o600)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A file without a name, until it is discarded and read to its end. */
class OpenFile implements KeptFile {
  readonly facts: FileFacts
  readonly madeAt: number
  readonly #handle: FileHandle
  readonly #space: TempReservation
  #readers = 0
  #isDiscarded = false

  constructor(handle: FileHandle, space: TempReservation, facts: FileFacts, madeAt: number) {
    this.#handle = handle
    this.#space = space
    this.facts = facts
    this.madeAt = madeAt
  }

  get isRead(): boolean {
    return this.#readers > 0
  }

  /** The bytes [from, to). The reader is counted at once, and must read to the end or return. */
  part(from: number, to: number): AsyncIterable<Uint8Array> {
    this.#readers++
    let at = from
    let isOver = false
    const buffer = Buffer.allocUnsafe(Math.min(PIECE, Math.max(1, to - from)))
    const end = (): void => {
      if (isOver) return
      isOver = true
      this.#readers--
      this.#closeIfUnused()
    }
    const next = async (): Promise<IteratorResult<Uint8Array>> => {
      if (isOver || at >= to) {
        end()
        return { done: true, value: undefined }
      }
      const length = Math.min(buffer.length, to - at)
      const { bytesRead } = await this.#handle.read(buffer, 0, length, at)
      if (bytesRead === 0) throw new Error(`a kept file ended at ${at} instead of ${to} bytes`)
      at += bytesRead
      return { done: false, value: buffer.subarray(0, bytesRead) }
    }
    return {
      [Symbol.asyncIterator]: () => ({
        next: () =>
          next().catch((error: unknown) => {
            end()
            throw error
          }),
        async return() {
          end()
          return { done: true, value: undefined }
        },
      }),
    }
  }

  /** Closes the file when nobody reads it. */
  discard(): void {
    this.#isDiscarded = true
    this.#closeIfUnused()
  }

  #closeIfUnused(): void {
    if (!this.#isDiscarded || this.#readers > 0) return
    this.#space.release()
    void this.#handle.close()
  }
}
