import { createReadStream } from 'node:fs'
import { mkdtemp, open, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { convertReplay } from '@priorbook/sdk/convert/node'
import { MAX_ZIP_BYTES, ZipFrame } from '@priorbook/sdk/convert/zip'
import { replayFiles } from '@priorbook/sdk/replay/node'
import { Problem, type ToolFormat } from '@priorbook/sdk/wire'
import { unlessAborted } from '../../lib/wait.ts'
import type { ApiContext } from '../route.ts'
import { makeFile } from './file.ts'
import type { BulkScope } from './scope.ts'
import { DEFAULT_SPACE, isDiskFull, noSpace } from './temp-space.ts'

/**
 * The books and trades of a scope as an archive of the files of another tool. They are made on disk before the first
 * byte is sent, from the same stored chunks as a download, so that `convert` gives the same files.
 */
export async function makeConverted(
  context: ApiContext,
  scope: BulkScope,
  tool: ToolFormat,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const release = await takeTurn(signal)
  try {
    return await makeArchive(context, scope, tool, signal)
  } finally {
    release()
  }
}

// Archives need disk and a core: one after the other in each process.
let lastTurn: Promise<void> = Promise.resolve()

async function takeTurn(signal: AbortSignal): Promise<() => void> {
  const before = lastTurn
  let release: () => void = () => undefined
  lastTurn = new Promise((done) => {
    release = done
  })
  try {
    await unlessAborted(before, signal)
  } catch (error) {
    void before.then(release)
    throw error
  }
  return release
}

async function makeArchive(
  context: ApiContext,
  scope: BulkScope,
  tool: ToolFormat,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  await removeStale()
  const space = (context.temp ?? DEFAULT_SPACE).reserve()
  const onBytes = (bytes: number): void => space.add(bytes)
  const folder = await mkdtemp(join(tmpdir(), PREFIX)).catch((error: unknown) => {
    space.release()
    throw isDiskFull(error) ? noSpace() : error
  })
  const remove = async (): Promise<void> => {
    await rm(folder, { recursive: true, force: true })
    space.release()
  }
  try {
    const sources: string[] = []
    for (const dataset of ['books', 'trades'] as const) {
      const file = join(folder, `${dataset}.pbx`)
      await save(file, makeFile(context, { ...scope, dataset }, 'tape', signal), onBytes)
      signal.throwIfAborted()
      sources.push(file)
    }
    const { start, end } = scope
    const replay = replayFiles(sources, { signal, start, end })
    const made = join(folder, tool)
    const files = await convertReplay({ replay, tool, folder: made, isForced: false, onBytes })
    signal.throwIfAborted()
    const paths = files.map(({ path }) => path).sort()
    await refuseLarge(made, paths)
    return withCleanup(zipFiles(made, paths), remove)
  } catch (error) {
    await remove()
    throw isDiskFull(error) ? noSpace() : error
  }
}

const PREFIX = 'priorbook-convert-'
const STALE_MS = 6 * 3_600_000

// Folders that were left by processes that were killed.
async function removeStale(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue
    const path = join(tmpdir(), name)
    const found = await stat(path).catch(() => undefined)
    if (found === undefined || Date.now() - found.mtimeMs < STALE_MS) continue
    await rm(path, { recursive: true, force: true })
  }
}

async function save(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const file = await open(path, 'w')
  try {
    for await (const piece of pieces) {
      onBytes(piece.length)
      await file.appendFile(piece)
    }
  } finally {
    await file.close()
  }
}

async function refuseLarge(folder: string, paths: readonly string[]): Promise<void> {
  let bytes = 0
  for (const path of paths) bytes += (await stat(join(folder, path))).size
  if (bytes <= MAX_ZIP_BYTES) return
  throw new Problem(
    'invalid_parameter',
    `the files have ${bytes} bytes, too many for one archive`,
    {
      param: 'format',
      hint: 'Ask for a shorter range.',
    },
  )
}

async function* zipFiles(folder: string, paths: readonly string[]): AsyncGenerator<Uint8Array> {
  const zip = new ZipFrame()
  for (const path of paths) {
    yield zip.begin(path)
    let size = 0
    let check = 0
    for await (const piece of createReadStream(join(folder, path), { highWaterMark: PIECE })) {
      const bytes = piece as Uint8Array
      check = crc32(bytes, check)
      size += bytes.length
      yield bytes
    }
    yield zip.end(size, check)
  }
  yield zip.finish()
}

const PIECE = 131_072

// A generator that was never begun runs no `finally`, so the end is watched from outside.
function withCleanup(
  pieces: AsyncGenerator<Uint8Array>,
  clean: () => Promise<void>,
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        try {
          const step = await pieces.next()
          if (step.done === true) await clean()
          return step
        } catch (error) {
          await clean()
          throw error
        }
      },
      async return() {
        await pieces.return(undefined)
        await clean()
        return { done: true, value: undefined }
      },
    }),
  }
}
