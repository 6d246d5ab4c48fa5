import {
  constants,
  createZstdCompress,
  createZstdDecompress,
  zstdCompressSync,
  zstdDecompressSync,
  type ZstdOptions,
} from 'node:zlib'

/** Decompresses one zstd frame to exactly `rawLength` bytes, or throws. */
export type ZstdDecoder = (stored: Uint8Array, rawLength: number) => Uint8Array

/**
 * Creates a decoder that keeps one native context. `zstdDecompressSync` creates a stream object and a
 * context for every call, which takes 10 µs: five times the decompression of a 1 KB column, and a page
 * needs seven columns. Node has no public way to keep the context, so this uses the handle behind its
 * stream, as the `tar` and `minizlib` packages do. A known frame is tested first; if anything differs
 * from what is expected, the public function is used.
 */
export function createZstdDecoder(): ZstdDecoder {
  try {
    const fast = createHandleDecoder()
    return isRight(fast) ? fast : decodeByPublicApi
  } catch {
    return decodeByPublicApi
  }
}

/** Compresses bytes into one zstd frame. */
export type ZstdEncoder = (raw: Uint8Array) => Uint8Array

/**
 * Creates an encoder that keeps one native context, for the same reason and with the same test: its frames
 * equal those of `zstdCompressSync` byte for byte, or that function is used.
 */
export function createZstdEncoder(level: number): ZstdEncoder {
  const options: ZstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: level } }
  const encodeByPublicApi: ZstdEncoder = (raw) => zstdCompressSync(raw, options)
  try {
    const fast = createHandleEncoder(options, encodeByPublicApi)
    return isSame(fast, encodeByPublicApi) ? fast : encodeByPublicApi
  } catch {
    return encodeByPublicApi
  }
}

const decodeByPublicApi: ZstdDecoder = (stored, rawLength) => {
  // A chunkSize one above the result keeps Node from growing and copying its output buffer.
  const raw = zstdDecompressSync(stored, {
    chunkSize: Math.max(64, rawLength + 1),
    maxOutputLength: Math.max(1, rawLength),
  })
  if (raw.length !== rawLength) throw new RangeError(`${raw.length} bytes, not ${rawLength}`)
  return raw
}

const ARENA_BYTES = 131_072

type Handle = {
  onerror: (message: string) => void
  writeSync(
    flush: number,
    input: Uint8Array,
    inputOffset: number,
    inputLength: number,
    output: Uint8Array,
    outputOffset: number,
    outputLength: number,
  ): void
}

type Context = { readonly handle: Handle; readonly state: Uint32Array; failure: string | undefined }

function createContext(stream: unknown): Context {
  const { _handle: handle, _writeState: state } = stream as {
    _handle: Handle
    _writeState: Uint32Array
  }
  const context: Context = { handle, state, failure: undefined }
  handle.onerror = (message) => {
    context.failure = message
  }
  return context
}

function createHandleDecoder(): ZstdDecoder {
  let context = createContext(createZstdDecompress())
  // Results are views of larger buffers, which saves allocations.
  let arena = new Uint8Array(0)
  let used = 0
  return (stored, rawLength) => {
    // One byte more than expected, so that a longer frame is detected.
    const room = rawLength + 1
    if (room > arena.length - used) {
      arena = new Uint8Array(Math.max(ARENA_BYTES, room))
      used = 0
    }
    const { handle, state } = context
    handle.writeSync(constants.ZSTD_e_end, stored, 0, stored.length, arena, used, room)
    const [unused, unread] = state
    if (context.failure !== undefined || unused !== 1 || unread !== 0) {
      const { failure } = context
      // A context stays unusable after an error.
      context = createContext(createZstdDecompress())
      throw new RangeError(failure ?? `the frame does not hold ${rawLength} bytes`)
    }
    used += rawLength
    return arena.subarray(used - rawLength, used)
  }
}

function createHandleEncoder(options: ZstdOptions, otherwise: ZstdEncoder): ZstdEncoder {
  let context = createContext(createZstdCompress(options))
  let room = new Uint8Array(4096)
  return (raw) => {
    // More than zstd ever needs, so that one call writes the whole frame.
    const most = raw.length + (raw.length >> 7) + 1024
    if (room.length < most) room = new Uint8Array(most)
    const { handle, state } = context
    handle.writeSync(constants.ZSTD_e_end, raw, 0, raw.length, room, 0, room.length)
    const [unused, unread] = state
    if (context.failure !== undefined || unused === 0 || unread !== 0) {
      context = createContext(createZstdCompress(options))
      return otherwise(raw)
    }
    return room.slice(0, room.length - unused!)
  }
}

// Frames of several sizes and kinds from the same context.
function isSame(encode: ZstdEncoder, other: ZstdEncoder): boolean {
  return [1000, 33, 0, 9000, 1000].every((length, kind) => {
    const raw = Uint8Array.from({ length }, (_, index) => (index * index) % (7 + kind * 50))
    return Buffer.compare(encode(raw), other(raw)) === 0
  })
}

// A complete frame, a truncated one, one longer than stated, and the complete one again.
function isRight(decode: ZstdDecoder): boolean {
  const raw = Uint8Array.from({ length: 3000 }, (_, index) => (index * index) % 7)
  const frame = zstdCompressSync(raw)
  const same = (): boolean => Buffer.compare(decode(frame, raw.length), raw) === 0
  return (
    same() &&
    refuses(() => decode(frame.subarray(0, frame.length - 9), raw.length)) &&
    refuses(() => decode(frame, raw.length - 1)) &&
    same()
  )
}

function refuses(work: () => unknown): boolean {
  try {
    work()
    return false
  } catch {
    return true
  }
}
