import type { Socket } from 'node:net'
import { constants, deflateRawSync } from 'node:zlib'
import { SocketSink } from './client-output.ts'

const TEXT_FRAME = 0x81
const COMPRESSED_TEXT = 0xc1
// Shorter messages gain nothing.
const MIN_BYTES = 256
const LEVEL = 1
// Less memory than the default for a context that lives for one message.
const MEM_LEVEL = 7
// The end of a flushed block, which RFC 7692 leaves out.
const TAIL = 4
// zlib has no raw deflate with a smaller window.
const MIN_WINDOW = 9
const MAX_WINDOW = 15

/** The window that an accepted extension allows the server; undefined where there is no compression. */
export function windowOf(accepted: string | undefined): number | undefined {
  if (accepted === undefined || !accepted.includes('permessage-deflate')) return undefined
  const said = /server_max_window_bits="?(\d+)/.exec(accepted)?.[1]
  return said === undefined ? MAX_WINDOW : Number(said)
}

/** Offers of an upgrade request that the server can keep; one that needs a smaller window is left out. */
export function keptOffers(offers: string | undefined): string | undefined {
  const kept = (offers ?? '').split(',').filter((offer) => {
    const bits = /server_max_window_bits\s*=\s*"?(\d+)/.exec(offer)?.[1]
    return offer.trim() !== '' && (bits === undefined || Number(bits) >= MIN_WINDOW)
  })
  return kept.length === 0 ? undefined : kept.join(',')
}

/**
 * Writes frames to a client that takes compressed messages. No message refers to one before it
 * (`server_no_context_takeover`), so that a frame is compressed once for all such clients and none of them keeps a
 * context in memory.
 */
export class DeflatingSink extends SocketSink {
  private readonly window: number

  constructor(socket: Socket, window: number) {
    super(socket)
    this.window = window
  }

  override write(bytes: Uint8Array): void {
    super.write(compressed(bytes, this.window))
  }
}

// By the bytes that many clients share, and by window; gone with them.
const known = new WeakMap<Uint8Array, Map<number, Uint8Array>>()

function compressed(bytes: Uint8Array, window: number): Uint8Array {
  let byWindow = known.get(bytes)
  if (byWindow === undefined) known.set(bytes, (byWindow = new Map()))
  let found = byWindow.get(window)
  if (found === undefined) byWindow.set(window, (found = compressFrames(bytes, window)))
  return found
}

/** Compresses the text frames of bytes that hold whole frames of a server. */
export function compressFrames(bytes: Uint8Array, window: number): Uint8Array {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const parts: Uint8Array[] = []
  for (let at = 0; at < buffer.length;) {
    const { start, end } = frameAt(buffer, at)
    const isText = buffer[at] === TEXT_FRAME && end - start >= MIN_BYTES
    const payload = isText ? deflate(buffer.subarray(start, end), window) : undefined
    if (payload === undefined || payload.length >= end - start) parts.push(buffer.subarray(at, end))
    else parts.push(headOf(payload.length), payload)
    at = end
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}

function deflate(payload: Uint8Array, windowBits: number): Buffer {
  const flushed = deflateRawSync(payload, {
    level: LEVEL,
    memLevel: MEM_LEVEL,
    windowBits,
    finishFlush: constants.Z_SYNC_FLUSH,
  })
  return flushed.subarray(0, flushed.length - TAIL)
}

// Where the payload of a frame without a mask begins and ends.
function frameAt(buffer: Buffer, at: number): { readonly start: number; readonly end: number } {
  const short = buffer[at + 1]!
  if (short < 126) return { start: at + 2, end: at + 2 + short }
  if (short === 126) return { start: at + 4, end: at + 4 + buffer.readUInt16BE(at + 2) }
  const length = buffer.readUInt32BE(at + 2) * 2 ** 32 + buffer.readUInt32BE(at + 6)
  return { start: at + 10, end: at + 10 + length }
}

function headOf(length: number): Buffer {
  const size = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const head = Buffer.alloc(size)
  head[0] = COMPRESSED_TEXT
  if (size === 2) head[1] = length
  else if (size === 4) {
    head[1] = 126
    head.writeUInt16BE(length, 2)
  } else {
    head[1] = 127
    head.writeUInt32BE(Math.floor(length / 2 ** 32), 2)
    head.writeUInt32BE(length >>> 0, 6)
  }
  return head
}
