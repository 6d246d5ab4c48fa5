import { open } from 'node:fs/promises'
import { PriorbookError, type Gap } from '@priorbook/sdk/domain'
import { FrameReader, type Frame } from '@priorbook/sdk/replay'
import { createReplayPlatform } from '@priorbook/sdk/replay/node'
import { openChunk, type ChunkHeader } from '@priorbook/sdk/tape'
import {
  fieldsOf,
  fromGapJson,
  fromMarketJson,
  parseExactJson,
  type KnownMarket,
} from '@priorbook/sdk/wire'

/** A chunk in a file: its header and its position. */
export type FilePiece = Omit<ChunkHeader, 'previousHash'> & {
  readonly isSealed: boolean
  /** The index of the file in the list of files. */
  readonly file: number
  readonly offset: number
  readonly length: number
}

/** The contents of a container. */
export type FileContents = {
  readonly pieces: readonly FilePiece[]
  readonly markets: readonly KnownMarket[]
  readonly gaps: readonly Gap[]
  /** The file declares that its rows are not recordings of a venue. */
  readonly isEmulated: boolean
}

const BLOCK = 1 << 20
const platform = createReplayPlatform()

/**
 * Reads a whole `tape` container. When it resolves, its hash and the checksum of every chunk have been
 * verified; any mismatch is an error with a listed code.
 */
export async function readContainer(path: string, file: number): Promise<FileContents> {
  const pieces: FilePiece[] = []
  const markets: KnownMarket[] = []
  const gaps: Gap[] = []
  let isEmulated = false
  const frames = new FrameReader(path, platform)
  const handle = await open(path, 'r')
  try {
    const buffer = Buffer.allocUnsafe(BLOCK)
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, BLOCK)
      if (bytesRead === 0) break
      for (const frame of frames.feed(buffer.subarray(0, bytesRead))) {
        if (frame.kind === 'H') isEmulated = saysEmulated(parse(frame))
        else if (frame.kind === 'M') markets.push(fromMarketJson(parse(frame)))
        else if (frame.kind === 'G') gaps.push(fromGapJson(parse(frame)))
        else if (frame.kind === 'C' || frame.kind === 'P') pieces.push(toPiece(frame, file))
      }
    }
  } finally {
    await handle.close()
  }
  frames.finish()
  isEmulated ||= pieces.some(({ origin }) => origin === 'emulator')
  return { pieces, markets, gaps, isEmulated }
}

function toPiece({ kind, offset, payload }: Frame, file: number): FilePiece {
  const { header } = openChunk(payload, platform)
  // Copy the hash: a view would keep the whole block in memory.
  const { previousHash: _previousHash, ...facts } = header
  return { ...facts, isSealed: kind === 'C', file, offset, length: payload.length }
}

const EMULATED = ['emulated_data', 'sample_data']

function saysEmulated(header: unknown): boolean {
  const { notice } = fieldsOf(header, 'the header')
  return EMULATED.includes(String(fieldsOf(notice ?? {}, 'the notice')['code']))
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function parse({ kind, payload }: Frame): unknown {
  try {
    return parseExactJson(decoder.decode(payload))
  } catch (cause) {
    throw new PriorbookError('corrupt_chunk', `a frame ${kind} is not JSON`, { cause })
  }
}
