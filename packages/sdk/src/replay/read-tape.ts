import { PriorbookError } from '../domain/index.ts'
import { ByteReader, openChunk } from '../tape/index.ts'
import {
  fieldsOf,
  fromGapJson,
  fromMarketJson,
  parseExactJson,
  timeOf,
  type JsonFields,
} from '../wire/index.ts'
import { Contents, type Span } from './contents.ts'
import { placeError, ReplayError } from './error.ts'
import { concat, type ByteStore, type ReplayPlatform, type RunningSum } from './source.ts'

/** Returns where the bytes of a chunk can be read again. */
export type KeepChunk = (frame: Frame) => Promise<{ store: ByteStore; offset: number }>

/**
 * Reads a `tape` container and indexes its contents. When it resolves, the hash of the container and the
 * checksum of every chunk have been verified.
 */
export async function readTape(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  platform: ReplayPlatform,
  into: Contents,
  keep: KeepChunk,
): Promise<void> {
  const frames = new FrameReader(name, platform)
  const own = new Contents()
  let span: Span = { start: 0, end: Infinity }
  for await (const block of bytes) {
    for (const frame of frames.feed(block)) {
      try {
        switch (frame.kind) {
          case 'H': {
            const header = parse(frame)
            span = spanOf(header)
            own.hasAllRecords = header['records'] === 'all'
            break
          }
          case 'M':
            own.addMarket(fromMarketJson(parse(frame)))
            break
          case 'G':
            own.addGap(fromGapJson(parse(frame)))
            break
          case 'C':
          case 'P': {
            const { header } = openChunk(frame.payload, platform)
            const { length } = frame.payload
            const check = frame.kind === 'C' ? checkOf(frame.payload) : undefined
            const { store, offset } = await keep(frame)
            own.addChunk(header, store, offset, length, span, check)
            break
          }
          case 'E':
            break
        }
      } catch (error) {
        throw placeError(error, { source: name, offset: frame.offset, read: readOf(own) })
      }
    }
  }
  frames.finish()
  // A container counts only after all of it has been verified.
  into.addAll(own)
}

function readOf({ chunks, rows }: Contents): { chunks: number; rows: number } {
  return { chunks, rows }
}

/** The last four bytes of a chunk. */
function checkOf(payload: Uint8Array): number {
  return new ByteReader(payload, payload.length - 4).uint32()
}

function spanOf(header: JsonFields): Span {
  const range = fieldsOf(header['range'], 'the range')
  return { start: timeOf(range['start_time']) ?? 0, end: timeOf(range['end_time']) ?? Infinity }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function parse({ kind, payload }: Frame): JsonFields {
  let value: unknown
  try {
    value = parseExactJson(decoder.decode(payload))
  } catch (cause) {
    throw new PriorbookError('corrupt_chunk', `a frame ${kind} is not JSON`, { cause })
  }
  return fieldsOf(value, `a frame ${kind}`)
}

/** One frame of a `tape` container (docs/formats/export.md), valid until the next one is requested. */
export type Frame = {
  readonly kind: FrameLetter
  /** The offset of the payload in the container. */
  readonly offset: number
  readonly payload: Uint8Array
}

/** The letter of a frame kind. */
export type FrameLetter = (typeof LETTERS)[number]

const LETTERS = ['H', 'M', 'G', 'C', 'P', 'E'] as const
const START = [0x50, 0x42, 0x58, 0x31]
const VERSION = 1
const HEAD = 5
const CHECK = 4
// Max bytes per payload, far above what a store writes: a damaged length must not make the reader buffer gigabytes.
const MAX_PAYLOAD = 1 << 24

/**
 * Reads the frames of a container from a stream of bytes. The frame `E` comes only after the hash of
 * everything before it has been verified. A container that is truncated, changed or followed by other
 * bytes throws a `ReplayError` with the place.
 */
export class FrameReader {
  /** Bytes of complete frames so far. */
  offset = 0
  private readonly name: string
  private readonly platform: ReplayPlatform
  private readonly hash: RunningSum
  private buffered: Uint8Array = new Uint8Array(0)
  private hasBegun = false
  private hasEnded = false

  constructor(name: string, platform: ReplayPlatform) {
    this.name = name
    this.platform = platform
    this.hash = platform.createSha256()
  }

  /** Yields the frames that the next bytes complete. */
  *feed(bytes: Uint8Array): Generator<Frame> {
    this.buffered = this.buffered.length === 0 ? bytes : concat(this.buffered, bytes)
    if (!this.hasBegun && !this.begin()) {
      this.buffered = new Uint8Array(this.buffered)
      return
    }
    while (this.buffered.length >= HEAD && !this.hasEnded) {
      const { buffered: waiting } = this
      const kind = LETTERS.find((letter) => letter.charCodeAt(0) === waiting[0])
      if (kind === undefined) throw this.damage(`it has a frame of the unknown kind ${waiting[0]}`)
      if ((kind === 'H') !== (this.offset === HEAD)) {
        throw this.damage(kind === 'H' ? 'it has a second header' : 'its header is missing')
      }
      const length = uint32(waiting, 1)
      if (length > MAX_PAYLOAD) throw this.damage(`a frame has a length of ${length} bytes`)
      const end = HEAD + length
      if (waiting.length < end + (kind === 'E' ? CHECK : 0)) break
      const payload = waiting.subarray(HEAD, end)
      if (kind === 'E') this.checkEnd(payload, uint32(waiting, end))
      else this.hash.update(waiting.subarray(0, end))
      const offset = this.offset + HEAD
      this.offset += kind === 'E' ? end + CHECK : end
      this.buffered = waiting.subarray(kind === 'E' ? end + CHECK : end)
      yield { kind, offset, payload }
    }
    if (this.hasEnded && this.buffered.length > 0) throw this.damage('bytes follow its end')
    // The caller may reuse its buffer, so the rest is copied.
    this.buffered = new Uint8Array(this.buffered)
  }

  /** Throws where the end frame has not come. */
  finish(): void {
    if (this.hasEnded) return
    const cut = this.offset + this.buffered.length
    throw new ReplayError(
      'truncated_file',
      `it ends at byte ${cut}, before its end frame, and may be incomplete`,
      { source: this.name, offset: this.offset },
    )
  }

  private begin(): boolean {
    const { buffered: waiting } = this
    for (let index = 0; index < Math.min(START.length, waiting.length); index++) {
      if (waiting[index] !== START[index]) {
        const place = { source: this.name, offset: 0 }
        throw new ReplayError('unsupported_format', 'it is not a tape file (PBX1)', place)
      }
    }
    if (waiting.length <= START.length) return false
    const version = waiting[START.length]
    if (version !== VERSION) {
      const place = { source: this.name, offset: START.length }
      throw new ReplayError('unsupported_format', `container format ${version} is not known`, place)
    }
    this.hash.update(waiting.subarray(0, START.length + 1))
    this.offset = START.length + 1
    this.buffered = waiting.subarray(START.length + 1)
    this.hasBegun = true
    return true
  }

  private checkEnd(payload: Uint8Array, check: number): void {
    if (this.platform.crc32(payload) !== check) throw this.damage('its receipt was changed')
    let wanted: unknown
    try {
      wanted = (JSON.parse(decoder.decode(payload)) as { sha256?: unknown } | null)?.sha256
    } catch (cause) {
      throw this.damage('its receipt is not JSON', cause)
    }
    if (wanted !== this.hash.finish()) throw this.damage('its hash does not match')
    this.hasEnded = true
  }

  private damage(detail: string, cause?: unknown): ReplayError {
    const place = { source: this.name, offset: this.offset }
    return new ReplayError('corrupt_chunk', `damaged tape file: ${detail}`, place, cause)
  }
}

function uint32(bytes: Uint8Array, at: number): number {
  const low = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16)
  return (low | (bytes[at + 3]! << 24)) >>> 0
}
