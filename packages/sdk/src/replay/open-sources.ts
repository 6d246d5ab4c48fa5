import { Contents } from './contents.ts'
import { addMissingRows, rejectContradictions } from './consistency.ts'
import { placeError, ReplayError } from './error.ts'
import type { ByteStore, ReplayPlatform, ReplaySource, Spool } from './source.ts'
import { readNdjson } from './read-ndjson.ts'
import { readTape, type KeepChunk } from './read-tape.ts'

/** The contents of a replay's sources, until they are closed. */
export type OpenedSources = { readonly contents: Contents; close(): Promise<void> }

/** Reads every source once: verifies it and indexes its chunks. */
export async function openSources(
  sources: readonly ReplaySource[],
  platform: ReplayPlatform,
  signal: AbortSignal,
): Promise<OpenedSources> {
  const contents = new Contents()
  const stores: ByteStore[] = []
  let spool: Promise<Spool> | undefined
  const openSpool = (): Promise<Spool> => {
    spool ??= platform.openSpool().then((opened) => {
      stores.push(opened)
      return opened
    })
    return spool
  }
  const close = async (): Promise<void> => {
    for (const store of stores.splice(0)) await store.close()
  }
  try {
    for (const source of sources) {
      signal.throwIfAborted()
      await readSource(source, platform, signal, contents, stores, openSpool)
    }
    await rejectContradictions(contents, platform)
    await addMissingRows(contents, platform)
  } catch (error) {
    await close()
    throw error
  }
  return { contents, close }
}

async function readSource(
  source: ReplaySource,
  platform: ReplayPlatform,
  signal: AbortSignal,
  contents: Contents,
  stores: ByteStore[],
  openSpool: () => Promise<Spool>,
): Promise<void> {
  const outer = await detect(abortable(source.open(signal), signal))
  try {
    await readFormat(source, outer, platform, contents, stores, openSpool)
  } finally {
    // A source may be left early, because of an error or because the rest is not needed.
    await outer.close()
  }
}

async function readFormat(
  source: ReplaySource,
  outer: Detected,
  platform: ReplayPlatform,
  contents: Contents,
  stores: ByteStore[],
  openSpool: () => Promise<Spool>,
): Promise<void> {
  const { name } = source
  const packing = outer.format === 'gzip' || outer.format === 'zstd' ? outer.format : undefined
  const { format, bytes } = packing
    ? await detect(placed(platform.unpack(packing, outer.bytes), name))
    : outer
  if (format === 'ndjson') return readNdjson(name, bytes, platform, contents, openSpool)
  if (format !== 'tape') {
    const detail = format === 'empty' ? 'it is empty' : 'it is neither tape nor NDJSON'
    const code = format === 'empty' ? 'truncated_file' : 'unsupported_format'
    throw new ReplayError(code, detail, { source: name, offset: 0 })
  }
  let keep: KeepChunk = async ({ payload }) => {
    const store = await openSpool()
    return { store, offset: await store.append(payload) }
  }
  if (source.kind === 'file' && packing === undefined) {
    const store = await source.openStore()
    stores.push(store)
    keep = async ({ offset }) => ({ store, offset })
  }
  return readTape(name, bytes, platform, contents, keep)
}

/** Adds the source to errors of decompression. */
async function* placed(
  bytes: AsyncIterable<Uint8Array>,
  source: string,
): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } catch (error) {
    throw placeError(error, { source })
  }
}

type Format = 'tape' | 'ndjson' | 'gzip' | 'zstd' | 'empty' | 'other'

type Detected = {
  readonly format: Format
  readonly bytes: AsyncIterable<Uint8Array>
  close(): Promise<void>
}

/** Detects the format of a stream by its first bytes, which stay readable. */
async function detect(bytes: AsyncIterable<Uint8Array>): Promise<Detected> {
  const iterator = bytes[Symbol.asyncIterator]()
  const first = await iterator.next()
  const head = first.done === true ? new Uint8Array(0) : first.value
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      if (first.done !== true) yield head
      for (;;) {
        const next = await iterator.next()
        if (next.done === true) return
        yield next.value
      }
    } finally {
      await iterator.return?.()
    }
  }
  const close = async (): Promise<void> => {
    await iterator.return?.()
  }
  return { format: formatOf(head), bytes: all(), close }
}

function formatOf(head: Uint8Array): Format {
  const starts = (...bytes: number[]): boolean =>
    head.length > 0 && bytes.slice(0, head.length).every((byte, index) => head[index] === byte)
  if (starts(0x50, 0x42, 0x58, 0x31)) return 'tape'
  if (starts(0x1f, 0x8b)) return 'gzip'
  if (starts(0x28, 0xb5, 0x2f, 0xfd)) return 'zstd'
  if (head.length === 0) return 'empty'
  return head[0] === 0x7b ? 'ndjson' : 'other'
}

async function* abortable(
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const block of bytes) {
    signal.throwIfAborted()
    yield block
  }
}
