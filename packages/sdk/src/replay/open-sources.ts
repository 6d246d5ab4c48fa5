import type { ByteStore } from './byte-store.ts'
import { Contents } from './contents.ts'
import { refuseContradictions } from './contradictions.ts'
import { placeError, ReplayError } from './error.ts'
import { noteHoles } from './holes.ts'
import type { ReplayPlatform, Spool } from './platform.ts'
import { readNdjson } from './read-ndjson.ts'
import { readTape, type KeepChunk } from './read-tape.ts'
import type { ReplaySource } from './source.ts'

/** What the sources of a replay hold, and how to let go of it. */
export type OpenedSources = { readonly contents: Contents; close(): Promise<void> }

/** Reads every source once: judges it, and notes where its chunks lie. */
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
    await refuseContradictions(contents, platform)
    await noteHoles(contents, platform)
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
  const outer = await lookAt(abortable(source.open(signal), signal))
  try {
    await readForm(source, outer, platform, contents, stores, openSpool)
  } finally {
    // What was not read to its end, because it is not wanted or not right, is let go.
    await outer.close()
  }
}

async function readForm(
  source: ReplaySource,
  outer: Looked,
  platform: ReplayPlatform,
  contents: Contents,
  stores: ByteStore[],
  openSpool: () => Promise<Spool>,
): Promise<void> {
  const { name } = source
  const packing = outer.form === 'gzip' || outer.form === 'zstd' ? outer.form : undefined
  const { form, bytes } = packing
    ? await lookAt(placed(platform.unpack(packing, outer.bytes), name))
    : outer
  if (form === 'ndjson') return readNdjson(name, bytes, platform, contents, openSpool)
  if (form !== 'tape') {
    const detail = form === 'empty' ? 'it is empty' : 'it is neither tape nor NDJSON'
    const code = form === 'empty' ? 'truncated_file' : 'unsupported_format'
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

/** Gives errors of unpacking the name of their source. */
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

type Form = 'tape' | 'ndjson' | 'gzip' | 'zstd' | 'empty' | 'other'

type Looked = {
  readonly form: Form
  readonly bytes: AsyncIterable<Uint8Array>
  close(): Promise<void>
}

/** Tells by the first bytes what a stream is; all of it can still be read. */
async function lookAt(bytes: AsyncIterable<Uint8Array>): Promise<Looked> {
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
  return { form: formOf(head), bytes: all(), close }
}

function formOf(head: Uint8Array): Form {
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
