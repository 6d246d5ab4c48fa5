import { randomBytes } from 'node:crypto'
import { accessSync, constants } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  PriorbookError,
  toMicros,
  VENUE_IDS,
  type Micros,
  type Origin,
  type VenueId,
} from '@priorbook/sdk/domain'
import { MAX_RECORD_BYTES, MAX_SLOT, type RecordKind } from '@priorbook/sdk/journal'
import { FILE_HEADER_BYTES, parseRecorder, printSegmentName } from '@priorbook/sdk/journal/format'
import { makeFolder } from '../lib/make-folder.ts'
import { BlockBuilder, toClosingMark, type SealedBlock } from './block-builder.ts'
import { syncFolder, toDiskError } from './disk.ts'
import { newestOrigin } from './origin.ts'
import { createSegmentFile, openSegmentFile, type SegmentFile } from './segment-file.ts'
import { MAX_SEGMENT_RECORDS, repairTail, type JournalRepair, type JournalTail } from './tail.ts'

/** How to open a journal for appending. */
export type JournalWriterOptions = {
  readonly dir: string
  readonly venue: VenueId
  readonly origin: Origin
  readonly recorder: string
  /** A new file is started before one exceeds this; 128 MiB by default. */
  readonly segmentBytes?: number
  /** A new file is started when one has records of this many microseconds; any by default. */
  readonly segmentMicros?: number
  /** The zstd level, 3 by default. */
  readonly level?: number
  /** False leaves syncing to the operating system: a power cut may then lose committed records. */
  readonly sync?: boolean
  /** The last number that the store has applied: it is never assigned again. */
  readonly acknowledged?: number
}

/** The one writer of a venue's journal in a data folder. */
export interface JournalWriter {
  /** The torn tail that was cut off when the journal was opened. */
  readonly repaired: JournalRepair | undefined
  /** The number that the next appended record gets. */
  readonly nextNumber: number
  /** The last number that is durable; 0 when there is none. */
  readonly committed: number
  /** Memory held by records that are not yet durable. */
  readonly pendingBytes: number
  /** Copies one record into memory and returns its number; `slot` is the socket of a message. */
  append(received: Micros, kind: RecordKind, bytes: Uint8Array, slot?: number): number
  /** Makes all appended records durable and returns the last number; can be retried after a failure. */
  commit(): number
  /** Commits, marks the file as closed and releases it, also when the commit fails. */
  close(): void
}

const SEGMENT_BYTES = 128 * 1024 * 1024

/** Opens a journal for appending, after cutting off a torn tail. */
export function openJournalWriter(options: JournalWriterOptions): JournalWriter {
  const { dir, venue, origin } = options
  const recorder = parseRecorder(options.recorder)
  refuseMixedOrigins(dir, origin)
  prepareFolder(join(dir, venue))
  const tail = repairTail(dir, venue, options.acknowledged ?? 0)
  return new Writer({ ...options, recorder }, tail)
}

class Writer implements JournalWriter {
  readonly repaired: JournalRepair | undefined
  private readonly options: JournalWriterOptions
  private readonly builder: BlockBuilder
  private readonly sync: boolean
  private readonly segmentBytes: number
  private file: SegmentFile | undefined
  private last: number
  /** When the first record of this process went into the file. */
  private since: number | undefined
  private isMarked = true
  private isClosed = false

  constructor(options: JournalWriterOptions, tail: JournalTail) {
    const { origin, recorder, level = 3, sync = true, segmentBytes = SEGMENT_BYTES } = options
    this.options = options
    this.sync = sync
    this.segmentBytes = segmentBytes
    this.repaired = tail.repaired
    this.builder = new BlockBuilder(recorder, level, tail.next)
    this.last = tail.next - 1
    const header = tail.file?.header
    const isSame = header?.origin === origin && header.recorder === recorder
    this.file = tail.file && isSame ? openSegmentFile(tail.file, sync) : undefined
  }

  get nextNumber(): number {
    return this.builder.nextNumber
  }

  get committed(): number {
    return this.last
  }

  get pendingBytes(): number {
    return this.builder.pendingBytes
  }

  append(received: Micros, kind: RecordKind, bytes: Uint8Array, slot: number = 0): number {
    this.refuseClosed()
    if (!(slot >= 0 && slot <= MAX_SLOT)) {
      throw new PriorbookError('invalid_argument', `slot ${slot} is not in 0 … ${MAX_SLOT}`)
    }
    if (bytes.length > MAX_RECORD_BYTES) {
      throw new PriorbookError(
        'message_too_large',
        `a message of ${bytes.length} bytes is larger than ${MAX_RECORD_BYTES}`,
      )
    }
    return this.builder.append(toMicros(received), kind, bytes, slot)
  }

  commit(): number {
    this.refuseClosed()
    const { builder } = this
    builder.seal()
    for (let block = builder.sealed[0]; block !== undefined; block = builder.sealed[0]) {
      this.file = this.fileFor(block)
      this.commitTo(this.file)
    }
    return this.last
  }

  close(): void {
    if (this.isClosed) return
    try {
      this.commit()
      if (!this.isMarked) this.tryMark()
    } finally {
      this.isClosed = true
      this.file?.close()
    }
  }

  private fileFor(block: SealedBlock): SegmentFile {
    if (this.file !== undefined && this.hasRoom(this.file, this.file.length, block)) {
      return this.file
    }
    const { dir, venue, origin, recorder } = this.options
    const { first } = block
    const segment = randomBytes(4).readUInt32LE()
    const path = join(dir, venue, printSegmentName(first))
    const header = { version: 1, venue, origin, recorder, first, segment } as const
    const created = createSegmentFile(path, header, this.sync)
    this.file?.close()
    this.since = undefined
    return created
  }

  private hasRoom(file: SegmentFile, length: number, block: SealedBlock): boolean {
    if (length === FILE_HEADER_BYTES) return true
    const { segmentMicros = Infinity } = this.options
    if (block.maxReceived - (this.since ?? block.maxReceived) > segmentMicros) return false
    const records = block.first + block.count - file.header.first
    return length + block.bytes.length <= this.segmentBytes && records <= MAX_SEGMENT_RECORDS
  }

  /** Writes as many finished blocks as the file has room for. */
  private commitTo(file: SegmentFile): void {
    const blocks: SealedBlock[] = []
    let { length } = file
    for (const block of this.builder.sealed) {
      if (!this.hasRoom(file, length, block)) break
      blocks.push(block)
      length += block.bytes.length
    }
    file.append(blocks)
    this.since ??= blocks[0]!.minReceived
    this.isMarked = false
    const last = blocks.at(-1)!
    this.last = last.first + last.count - 1
    this.builder.drop(blocks.length)
  }

  private tryMark(): void {
    try {
      this.file?.append([toClosingMark(this.builder.nextNumber)])
    } catch {
      // Everything is committed; a file without the mark only looks like one after a crash.
    }
  }

  private refuseClosed(): void {
    if (this.isClosed) throw new PriorbookError('store_closed', 'the journal was closed')
  }
}

function prepareFolder(folder: string): void {
  try {
    const created = makeFolder(folder)
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

// Emulated messages must never be mistaken for real ones: they need a data folder of their own.
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
