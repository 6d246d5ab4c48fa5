import { randomBytes } from 'node:crypto'
import { accessSync, constants, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  PriorbookError,
  toMicros,
  VENUE_IDS,
  type Micros,
  type Origin,
  type VenueId,
} from '@priorbook/sdk/domain'
import { createBlockBuilder, toClosingMark, type SealedBlock } from './block-builder.ts'
import { syncFolder, toDiskError } from './disk.ts'
import { FILE_HEADER_BYTES, parseRecorder, printSegmentName } from './format.ts'
import { MAX_RECORD_BYTES, MAX_SLOT, type RecordKind } from './record.ts'
import { createSegmentFile, openSegmentFile, type SegmentFile } from './segment-file.ts'
import { listSegments, openSegment } from './segments.ts'
import { MAX_SEGMENT_RECORDS, repairTail, type JournalRepair } from './tail.ts'

/** Whose messages are written where, and how. */
export type JournalWriterOptions = {
  readonly dir: string
  readonly venue: VenueId
  readonly origin: Origin
  readonly recorder: string
  /** A file is not continued beyond this; 128 MiB by default. */
  readonly segmentBytes?: number
  /** The zstd level, 3 by default. */
  readonly level?: number
  /** False leaves syncing to the operating system: a power cut may then take what was committed. */
  readonly sync?: boolean
  /** The last number that is known to be in use (the applied journal position): never given again. */
  readonly acknowledged?: number
}

/** The one writer of a venue's journal in a data folder. */
export interface JournalWriter {
  /** What was cut off when the journal was opened. */
  readonly repaired: JournalRepair | undefined
  /** The number that the next appended record gets. */
  readonly nextNumber: number
  /** The last number that is durable; 0 when there is none. */
  readonly committed: number
  /** Memory held by records that are not yet durable. */
  readonly pendingBytes: number
  /** Takes a copy of one record into memory and gives its number; `slot` is the socket of a message. */
  append(received: Micros, kind: RecordKind, bytes: Uint8Array, slot?: number): number
  /** Makes all appended records durable and gives the last number; after a failure it can be tried again. */
  commit(): number
  /** Commits, marks the file as closed and releases it, also when the commit fails. */
  close(): void
}

const SEGMENT_BYTES = 128 * 1024 * 1024

/** Opens a journal for appending, after cutting off a torn tail. */
export function openJournalWriter(options: JournalWriterOptions): JournalWriter {
  const { dir, venue, origin, segmentBytes = SEGMENT_BYTES, level = 3, sync = true } = options
  const recorder = parseRecorder(options.recorder)
  const folder = join(dir, venue)
  refuseMixedOrigins(dir, origin)
  prepareFolder(folder)
  const tail = repairTail(dir, venue, options.acknowledged ?? 0)
  const builder = createBlockBuilder({ recorder, level, first: tail.next })
  const header = tail.file?.header
  const isSame = header?.origin === origin && header.recorder === recorder
  let file = tail.file && isSame ? openSegmentFile(tail.file, sync) : undefined
  let committed = tail.next - 1
  let isMarked = true
  let isClosed = false

  function fileFor(block: SealedBlock): SegmentFile {
    if (file !== undefined && hasRoom(file, file.length, block)) return file
    const { first } = block
    const segment = randomBytes(4).readUInt32LE()
    const path = join(folder, printSegmentName(first))
    const created = createSegmentFile(path, { venue, origin, recorder, first, segment }, sync)
    file?.close()
    return created
  }

  function hasRoom(at: SegmentFile, length: number, block: SealedBlock): boolean {
    if (length === FILE_HEADER_BYTES) return true
    const records = block.first + block.count - at.header.first
    return length + block.bytes.length <= segmentBytes && records <= MAX_SEGMENT_RECORDS
  }

  /** Writes as many finished blocks as the file takes. */
  function commitFile(at: SegmentFile): void {
    const blocks: SealedBlock[] = []
    let { length } = at
    for (const block of builder.sealed) {
      if (!hasRoom(at, length, block)) break
      blocks.push(block)
      length += block.bytes.length
    }
    at.append(blocks)
    isMarked = false
    const last = blocks.at(-1)!
    committed = last.first + last.count - 1
    builder.drop(blocks.length)
  }

  function commit(): number {
    refuseClosed()
    builder.seal()
    for (let block = builder.sealed[0]; block !== undefined; block = builder.sealed[0]) {
      file = fileFor(block)
      commitFile(file)
    }
    return committed
  }

  function tryMark(at: SegmentFile): void {
    try {
      at.append([toClosingMark(builder.nextNumber)])
    } catch {
      // Everything is committed; a file without the mark only looks like one after a crash.
    }
  }

  function refuseClosed(): void {
    if (isClosed) throw new PriorbookError('store_closed', 'the journal was closed')
  }

  return {
    repaired: tail.repaired,
    get nextNumber() {
      return builder.nextNumber
    },
    get committed() {
      return committed
    },
    get pendingBytes() {
      return builder.pendingBytes
    },
    append(received, kind, bytes, slot = 0) {
      refuseClosed()
      if (!(slot >= 0 && slot <= MAX_SLOT)) {
        throw new PriorbookError('invalid_argument', `there is no socket ${slot}`)
      }
      if (bytes.length > MAX_RECORD_BYTES) {
        throw new PriorbookError(
          'message_too_large',
          `a message of ${bytes.length} bytes is larger than ${MAX_RECORD_BYTES}`,
        )
      }
      return builder.append(toMicros(received), kind, bytes, slot)
    },
    commit,
    close() {
      if (isClosed) return
      try {
        commit()
        if (!isMarked && file !== undefined) tryMark(file)
      } finally {
        isClosed = true
        file?.close()
      }
    },
  }
}

function prepareFolder(folder: string): void {
  try {
    const created = mkdirSync(folder, { recursive: true })
    if (created !== undefined) {
      // Every folder made here, from the topmost one's parent down, must survive a power cut.
      for (let at = dirname(folder); at.length >= dirname(created).length; at = dirname(at)) {
        syncFolder(at)
        if (at === dirname(at)) break
      }
    }
    accessSync(folder, constants.W_OK)
  } catch (error) {
    throw toDiskError(error, folder)
  }
}

/** Emulated messages must never be taken for real ones: they have a data folder of their own. */
function refuseMixedOrigins(dir: string, origin: Origin): void {
  for (const venue of VENUE_IDS) {
    const found = newestOrigin(dir, venue)
    if (found === undefined || (found === 'emulator') === (origin === 'emulator')) continue
    throw new PriorbookError(
      'origin_mismatch',
      `${dir} holds ${found} data of ${venue}: ${origin} data needs a data folder of its own`,
    )
  }
}

function newestOrigin(dir: string, venue: VenueId): Origin | undefined {
  for (const name of listSegments(dir, venue).toReversed()) {
    const segment = openSegment(name)
    segment?.close()
    if (segment?.header !== undefined) return segment.header.origin
  }
  return undefined
}
