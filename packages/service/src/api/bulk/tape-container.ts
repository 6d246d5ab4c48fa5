import { createHash, type Hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { PriorbookError } from '@priorbook/sdk/domain'

/** The kinds of frames of a tape export; the byte of a kind is its letter. */
const FRAMES = {
  /** The scope of the download, as JSON; the first frame. */
  header: 'H',
  /** A record of a market, as JSON: those known in the range, oldest first; its chunks follow. */
  market: 'M',
  /** A sealed chunk as it is stored: its hash is in the chain of its stream. */
  chunk: 'C',
  /** Rows that are not sealed yet, or a part of a sealed chunk, as a chunk of its own. */
  part: 'P',
  /** A gap, as JSON. */
  gap: 'G',
  /** The receipt, as JSON with the SHA-256 of every byte before this frame; the last frame. */
  end: 'E',
} as const

/** The name of a kind of frame. */
export type FrameKind = keyof typeof FRAMES

/** "PBX1", then the version. */
const START = Buffer.from([0x50, 0x42, 0x58, 0x31, 1])
const HEAD = 5
/** After the last frame: CRC-32 of its payload. */
const CHECK = 4

/** Writes the bytes of a container with any number of frames. */
export class ContainerWriter {
  private readonly hash: Hash = createHash('sha256')

  /** The first bytes, with the scope of the download. */
  begin(header: unknown): Uint8Array[] {
    this.hash.update(START)
    return [START, ...this.json('header', header)]
  }

  frame(kind: Exclude<FrameKind, 'end'>, payload: Uint8Array): Uint8Array[] {
    const bytes = [headOf(kind, payload.length), payload]
    for (const part of bytes) this.hash.update(part)
    return bytes
  }

  json(kind: 'header' | 'market' | 'gap', value: unknown): Uint8Array[] {
    return this.frame(kind, Buffer.from(JSON.stringify(value)))
  }

  /** The last bytes. */
  end(receipt: object): Uint8Array[] {
    const sha256 = this.hash.digest('hex')
    const payload = Buffer.from(JSON.stringify({ ...receipt, sha256 }))
    const check = Buffer.allocUnsafe(CHECK)
    check.writeUInt32LE(crc32(payload))
    return [headOf('end', payload.length), payload, check]
  }
}

/** Reads the frames of a whole container; a truncated, changed or unknown frame is `corrupt_chunk`. */
export function* readContainer(
  bytes: Uint8Array,
): Generator<{ readonly kind: FrameKind; readonly payload: Uint8Array }> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (!START.equals(bytes.subarray(0, START.length))) throw damaged('it does not start with PBX1')
  for (let at = START.length; ;) {
    if (at + HEAD > bytes.length) throw damaged('it ends before its end frame')
    const letter = String.fromCharCode(bytes[at]!)
    const kind = KINDS.find((one) => FRAMES[one] === letter)
    const end = at + HEAD + view.getUint32(at + 1, true)
    if (kind === undefined) throw damaged(`a frame is of the unknown kind ${bytes[at]}`)
    if (end > bytes.length) throw damaged('a frame is cut')
    const payload = bytes.subarray(at + HEAD, end)
    if (kind === 'end') {
      if (end + CHECK !== bytes.length) throw damaged('it does not end after its end frame')
      if (crc32(payload) !== view.getUint32(end, true)) throw damaged('its receipt was changed')
      checkEnd(bytes, at, payload)
      yield { kind, payload }
      return
    }
    yield { kind, payload }
    at = end
  }
}

const KINDS = Object.keys(FRAMES) as FrameKind[]

function checkEnd(bytes: Uint8Array, at: number, payload: Uint8Array): void {
  let wanted: unknown
  try {
    wanted = (JSON.parse(Buffer.from(payload).toString()) as { sha256?: unknown }).sha256
  } catch (cause) {
    throw damaged('its receipt is not JSON', cause)
  }
  const sha256 = createHash('sha256').update(bytes.subarray(0, at)).digest('hex')
  if (wanted !== sha256) throw damaged('its hash does not hold')
}

function headOf(kind: FrameKind, length: number): Uint8Array {
  const head = Buffer.allocUnsafe(HEAD)
  head[0] = FRAMES[kind].charCodeAt(0)
  head.writeUInt32LE(length, 1)
  return head
}

function damaged(detail: string, cause?: unknown): PriorbookError {
  return new PriorbookError('corrupt_chunk', `damaged tape export: ${detail}`, { cause })
}
