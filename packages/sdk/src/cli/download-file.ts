import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename, rm, stat, writeFile, type FileHandle } from 'node:fs/promises'
import {
  PriorbookClientError,
  type BulkParams,
  type FileFormat,
  type ManifestFileJson,
  type NoticeJson,
  type PriorbookClient,
} from '../client/index.ts'
import { delayOf, sleep, DEFAULT_RETRY } from '../client/backoff.ts'
import { UsageError } from '../command-line/index.ts'
import { CliError } from './errors.ts'
import {
  fileIn,
  fileNameIn,
  manifestPath,
  readSavedManifest,
  type SavedManifest,
} from './file-proof.ts'
import { lockPart, type PartLock } from './part-lock.ts'

/** What to download and where to. */
export type DownloadOrder = {
  readonly params: BulkParams
  readonly format: FileFormat
  /** The file; the server's own name for it where it ends with a slash or is absent. */
  readonly path: (fileName: string) => string
  /**
   * A file that is there already: `refuse` and `refresh` keep it where it is what was asked for and final. Any other
   * one `refuse` refuses and `refresh` replaces; `replace` replaces all.
   */
  readonly existing: 'refuse' | 'refresh' | 'replace'
  /** Max consecutive retries of a broken connection without a byte of progress. */
  readonly retries: number
  readonly signal: AbortSignal
  /** Told once where another process downloads the file, which is then waited for; without it that is refused. */
  readonly onWait?: ((why: string) => void) | undefined
}

/** Reports of a running download. */
export interface DownloadEvents {
  onManifest(file: ManifestFileJson, saved: SavedManifest, have: number): void
  onProgress(bytes: number): void
  onBreak(error: Error, bytes: number, delayMs: number): void
  onNotices(notices: readonly NoticeJson[]): void
}

/** A complete, verified file. */
export type Downloaded = {
  readonly path: string
  readonly file: ManifestFileJson
  readonly saved: SavedManifest
  /** Bytes that an earlier run had downloaded. */
  readonly resumedAt: number
  /** True where the file was already complete. */
  readonly wasThere: boolean
}

/**
 * Downloads a file: manifest first, then its bytes into `FILE.part`, from where an earlier run stopped;
 * the file gets its name only when its SHA-256 is that of the manifest.
 */
export async function downloadFile(
  client: PriorbookClient,
  order: DownloadOrder,
  events: DownloadEvents,
): Promise<Downloaded> {
  const { format, params, signal } = order
  const request = { ...params, format, demo: client.isDemo }
  const named = await client.manifest({ ...params, formats: [format], estimate: true }, { signal })
  const path = order.path(fileNameIn(named.data, format))
  const there = await keptFile(order, path, request, client.url)
  if (there !== undefined) return there
  const lock = await lockPart(`${path}.part`, signal, order.onWait)
  try {
    // The process that was waited for may have downloaded it.
    const made = await keptFile(order, path, request, client.url)
    return made ?? (await new Run(client, order, events, request, path, lock).go())
  } finally {
    await lock.release()
  }
}

/** The file that is there already, where it stays; throws where it must not be replaced. */
async function keptFile(
  { existing, format }: DownloadOrder,
  path: string,
  request: Request,
  url: string,
): Promise<Downloaded | undefined> {
  const bytes = await sizeOf(path)
  if (bytes === undefined || existing === 'replace') return undefined
  const reading = readSavedManifest(manifestPath(path))
  const saved = await (existing === 'refresh' ? reading.catch(() => undefined) : reading)
  const isSame = saved !== undefined && isSameRequest(saved, request, url)
  if (!isSame || !saved.manifest.receipt?.is_final) {
    if (existing === 'refresh') return undefined
    throw new UsageError(
      `${path} is there already${isSame ? ', and its range was not final' : ''}`,
      'Choose another name with --output, or replace it with --force.',
    )
  }
  const file = fileIn(saved.manifest, format)
  if (bytes !== file.bytes) return undefined
  return { path, file, saved, resumedAt: bytes, wasThere: true }
}

// What was asked for, so that a repeated request is recognized.
type Request = Readonly<Record<string, unknown>>

class Run {
  private readonly client: PriorbookClient
  private readonly order: DownloadOrder
  private readonly events: DownloadEvents
  private readonly request: Request
  private readonly path: string
  private readonly lock: PartLock
  private readonly part: string
  private readonly partManifest: string

  constructor(
    client: PriorbookClient,
    order: DownloadOrder,
    events: DownloadEvents,
    request: Request,
    path: string,
    lock: PartLock,
  ) {
    this.client = client
    this.order = order
    this.events = events
    this.request = request
    this.path = path
    this.lock = lock
    this.part = `${path}.part`
    this.partManifest = manifestPath(this.part)
  }

  async go(): Promise<Downloaded> {
    const { format } = this.order
    let saved = await this.begin()
    for (let isAgain = false; ; isAgain = true) {
      const { resumedAt, sha256 } = await this.fetch(saved)
      // Without the lock the part is that of another process, which goes on with it.
      await this.lock.check()
      const file = fileIn(saved.manifest, format)
      if (sha256 === file.sha256) return this.keep(saved, file, resumedAt)
      // Rows may have been added to the range; the manifest has then changed too.
      const isOpen = saved.manifest.receipt?.is_final === false
      if (isOpen) {
        saved = await this.describe(saved)
        const now = fileIn(saved.manifest, format)
        if (sha256 === now.sha256) return this.keep(saved, now, resumedAt)
      }
      if (!isOpen || isAgain) {
        await this.discard(`the SHA-256 of ${this.path} is not that of its manifest`)
      }
      await rm(this.part, { force: true })
    }
  }

  /** Resumes what an earlier run left, or requests a manifest. */
  private async begin(): Promise<SavedManifest> {
    const left = await readSavedManifest(this.partManifest).catch(() => undefined)
    if (left !== undefined && isSameRequest(left, this.request, this.client.url)) return left
    await rm(this.part, { force: true })
    return this.describe(undefined)
  }

  private async describe(before: SavedManifest | undefined): Promise<SavedManifest> {
    const { params, format, signal } = this.order
    const pinned = before === undefined ? params : pin(params, before)
    const answer = await this.client.manifest({ ...pinned, formats: [format] }, { signal })
    this.events.onNotices(answer.notices)
    const { data: manifest, meta } = answer
    if (manifest.rows === 0) {
      const why = answer.notices[0]?.message ?? 'no row lies in the range'
      throw new CliError('empty', `there is nothing to download: ${why}`)
    }
    const saved = { request: this.request, url: this.client.url, manifest, gaps: meta.gaps }
    await writeFile(this.partManifest, `${JSON.stringify(saved)}\n`)
    return saved
  }

  /** Fetches the missing bytes of the part; broken connections are retried. */
  private async fetch(
    saved: SavedManifest,
  ): Promise<{ readonly resumedAt: number; readonly sha256: string }> {
    const { format, params, retries, signal } = this.order
    const wanted = fileIn(saved.manifest, format)
    const hash = createHash('sha256')
    let bytes = await hashPart(this.part, wanted.bytes, hash)
    const resumedAt = bytes
    this.events.onManifest(wanted, saved, bytes)
    const out = await open(this.part, 'a')
    try {
      await out.truncate(bytes)
      for (let failures = 0; bytes < wanted.bytes;) {
        const before = bytes
        try {
          const download = await this.client.download(
            { ...pin(params, saved), format, offset: bytes },
            { signal },
          )
          for await (const piece of download.body) {
            await write(out, piece)
            hash.update(piece)
            bytes += piece.length
            this.events.onProgress(bytes)
            // More bytes than announced: the file is another one.
            if (bytes > wanted.bytes) break
          }
          if (bytes >= wanted.bytes) break
          throw new PriorbookClientError('network_failed', 'the download ended early')
        } catch (error) {
          signal.throwIfAborted()
          if (!(error instanceof PriorbookClientError) || error.code !== 'network_failed')
            throw error
          failures = bytes > before ? 1 : failures + 1
          if (failures > retries) throw error
          const delayMs = delayOf(DEFAULT_RETRY, failures)
          this.events.onBreak(error, bytes, delayMs)
          await sleep(delayMs, signal)
        }
      }
      await out.sync()
    } finally {
      await out.close()
    }
    return { resumedAt, sha256: hash.digest('hex') }
  }

  private async keep(
    saved: SavedManifest,
    file: ManifestFileJson,
    resumedAt: number,
  ): Promise<Downloaded> {
    await this.lock.check()
    // The SHA-256 is that of the bytes that were received: a program without the lock may have written more of them.
    const bytes = await sizeOf(this.part)
    if (bytes !== file.bytes) {
      await this.discard(`${this.part} has ${bytes ?? 'no'} bytes instead of ${file.bytes}`)
    }
    await writeFile(manifestPath(this.path), `${JSON.stringify(saved, null, 2)}\n`)
    await rename(this.part, this.path)
    await rm(this.partManifest, { force: true })
    return { path: this.path, file, saved, resumedAt, wasThere: false }
  }

  private async discard(why: string): Promise<never> {
    await rm(this.part, { force: true })
    await rm(this.partManifest, { force: true })
    throw new PriorbookClientError('incomplete_file', `${why}; nothing was kept`)
  }
}

/** The same request over the range of the manifest: the end of an open range moves on. */
function pin(params: BulkParams, { manifest: { range } }: SavedManifest): BulkParams {
  const { day: _, ...rest } = params
  return {
    ...rest,
    start_time: range.start_time,
    end_time: range.end_time,
  }
}

function isSameRequest(saved: SavedManifest, request: Request, url: string): boolean {
  const text = (value: Request): string =>
    JSON.stringify(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return saved.url === url && text(saved.request) === text(request)
}

async function hashPart(path: string, most: number, hash: Hash): Promise<number> {
  const size = (await sizeOf(path)) ?? 0
  if (size === 0) return 0
  // A part that is longer than the file cannot be its beginning.
  if (size > most) return 0
  for await (const piece of createReadStream(path, { highWaterMark: 1 << 20 })) {
    hash.update(piece as Buffer)
  }
  return size
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function write(file: FileHandle, piece: Uint8Array): Promise<void> {
  let at = 0
  while (at < piece.length) {
    const { bytesWritten } = await file.write(piece, at, piece.length - at)
    at += bytesWritten
  }
}
