import { ReplayError } from './error.ts'
import type { ReplayPlatform, RunningSum } from './platform.ts'

/** One frame of a `tape` container (docs/formats/export.md), valid until the next one is asked for. */
export type Frame = {
  readonly kind: FrameLetter
  /** The place of the payload in the container. */
  readonly offset: number
  readonly payload: Uint8Array
}

/** The letters of the kinds of frames. */
export type FrameLetter = (typeof LETTERS)[number]

const LETTERS = ['H', 'M', 'G', 'C', 'P', 'E'] as const
const START = [0x50, 0x42, 0x58, 0x31]
const VERSION = 1
const HEAD = 5
const CHECK = 4
// Far above what a store writes: a damaged length must not make a reader wait for gigabytes.
const MAX_PAYLOAD = 1 << 24

/**
 * Reads the frames of a container from bytes as they come. The frame `E` is handed out only after the
 * hash of everything before it was compared; a container that is cut, changed or followed by anything
 * else throws a `ReplayError` with the place.
 */
export class FrameReader {
  /** Bytes of whole frames so far. */
  offset = 0
  private readonly name: string
  private readonly platform: ReplayPlatform
  private readonly hash: RunningSum
  private waiting: Uint8Array = new Uint8Array(0)
  private hasBegun = false
  private hasEnded = false

  constructor(name: string, platform: ReplayPlatform) {
    this.name = name
    this.platform = platform
    this.hash = platform.createSha256()
  }

  /** Takes the next bytes and gives the frames that are whole with them. */
  *feed(bytes: Uint8Array): Generator<Frame> {
    this.waiting = this.waiting.length === 0 ? bytes : join(this.waiting, bytes)
    if (!this.hasBegun && !this.begin()) {
      this.waiting = new Uint8Array(this.waiting)
      return
    }
    while (this.waiting.length >= HEAD && !this.hasEnded) {
      const { waiting } = this
      const kind = LETTERS.find((letter) => letter.charCodeAt(0) === waiting[0])
      if (kind === undefined) throw this.damage(`a frame is of the unknown kind ${waiting[0]}`)
      if ((kind === 'H') !== (this.offset === HEAD)) {
        throw this.damage(kind === 'H' ? 'it has a second header' : 'its header is missing')
      }
      const length = uint32(waiting, 1)
      if (length > MAX_PAYLOAD) throw this.damage(`a frame claims ${length} bytes`)
      const end = HEAD + length
      if (waiting.length < end + (kind === 'E' ? CHECK : 0)) break
      const payload = waiting.subarray(HEAD, end)
      if (kind === 'E') this.checkEnd(payload, uint32(waiting, end))
      else this.hash.update(waiting.subarray(0, end))
      const offset = this.offset + HEAD
      this.offset += kind === 'E' ? end + CHECK : end
      this.waiting = waiting.subarray(kind === 'E' ? end + CHECK : end)
      yield { kind, offset, payload }
    }
    if (this.hasEnded && this.waiting.length > 0) throw this.damage('bytes follow its end')
    // The caller's buffer may be used again: what is left of it is kept apart.
    this.waiting = new Uint8Array(this.waiting)
  }

  /** Refuses a container that has not come to its end. */
  finish(): void {
    if (this.hasEnded) return
    const cut = this.offset + this.waiting.length
    throw new ReplayError(
      'truncated_file',
      `it ends at byte ${cut}, before its end frame: what it holds cannot be trusted to be all`,
      { source: this.name, offset: this.offset },
    )
  }

  private begin(): boolean {
    const { waiting } = this
    for (let index = 0; index < Math.min(START.length, waiting.length); index++) {
      if (waiting[index] !== START[index]) {
        const place = { source: this.name, offset: 0 }
        throw new ReplayError('unsupported_format', 'it is no tape file (PBX1)', place)
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
    this.waiting = waiting.subarray(START.length + 1)
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
    if (wanted !== this.hash.finish()) throw this.damage('its hash does not hold')
    this.hasEnded = true
  }

  private damage(detail: string, cause?: unknown): ReplayError {
    const place = { source: this.name, offset: this.offset }
    return new ReplayError('corrupt_chunk', `damaged tape file: ${detail}`, place, cause)
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function uint32(bytes: Uint8Array, at: number): number {
  const low = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16)
  return (low | (bytes[at + 3]! << 24)) >>> 0
}

function join(left: Uint8Array, right: Uint8Array): Uint8Array {
  const joined = new Uint8Array(left.length + right.length)
  joined.set(left)
  joined.set(right, left.length)
  return joined
}
