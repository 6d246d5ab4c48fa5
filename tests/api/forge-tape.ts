import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** A frame of a tape file. */
export type ForgedFrame = { readonly kind: string; readonly payload: Buffer }

/** The frames of a tape file without its end. */
export function framesOf(file: Buffer): ForgedFrame[] {
  const frames: ForgedFrame[] = []
  for (let at = 5; ;) {
    const kind = String.fromCharCode(file[at]!)
    const length = file.readUInt32LE(at + 1)
    const payload = file.subarray(at + 5, at + 5 + length)
    frames.push({ kind, payload })
    if (kind === 'E') return frames
    at += 5 + length
  }
}

/** A tape file of frames, with every hash and checksum made to fit: only the signature can tell. */
export function forgeTape(frames: readonly ForgedFrame[]): Buffer {
  const head = Buffer.from('PBX1\u0001', 'latin1')
  const body = frames.filter(({ kind }) => kind !== 'E').map(encodeFrame)
  const before = Buffer.concat([head, ...body])
  const receipt = JSON.parse(frames.at(-1)!.payload.toString()) as object
  const sha256 = createHash('sha256').update(before).digest('hex')
  const payload = Buffer.from(JSON.stringify({ ...receipt, sha256 }))
  const check = Buffer.alloc(4)
  check.writeUInt32LE(crc32(payload))
  return Buffer.concat([before, encodeFrame({ kind: 'E', payload }), check])
}

/** A chunk whose recorder has another name, with a checksum that fits. */
export function forgeChunk(payload: Buffer): Buffer {
  const forged = Buffer.from(payload)
  // The name of the recorder follows its length in the header, which is not compressed.
  const at = forged.indexOf(Buffer.from('\u0002r1', 'latin1'))
  forged[at + 2] = '2'.charCodeAt(0)
  forged.writeUInt32LE(crc32(forged.subarray(0, -4)), forged.length - 4)
  return forged
}

/** NDJSON lines with the checksum in their receipt made to fit. */
export function forgeNdjson(lines: readonly string[]): string {
  const rows = lines.filter((line) => !line.startsWith('{"type":"receipt"'))
  const receipt = JSON.parse(lines.find((line) => line.startsWith('{"type":"receipt"'))!) as object
  const body = rows.map((line) => `${line}\n`).join('')
  const check = crc32(body).toString(16).padStart(8, '0')
  return `${body}${JSON.stringify({ ...receipt, crc32: check })}\n`
}

function encodeFrame({ kind, payload }: ForgedFrame): Buffer {
  const head = Buffer.alloc(5)
  head[0] = kind.charCodeAt(0)
  head.writeUInt32LE(payload.length, 1)
  return Buffer.concat([head, payload])
}
