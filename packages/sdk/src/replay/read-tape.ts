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
import { placeError } from './error.ts'
import { FrameReader, type Frame } from './frames.ts'
import type { ReplayPlatform } from './platform.ts'
import type { ByteStore } from './source.ts'

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
          case 'H':
            span = spanOf(parse(frame))
            break
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
