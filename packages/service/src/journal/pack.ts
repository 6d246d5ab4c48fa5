import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { PriorbookError, type VenueId } from '@priorbook/sdk/domain'
import type { JournalBlock } from '@priorbook/sdk/journal'
import {
  FILE_HEADER_BYTES,
  listSegments,
  openSegment,
  readSegmentBlocks,
  toChecksumSeed,
  toFileHeader,
  writeBlockHeader,
  type FormatVersion,
  type Segment,
  type SegmentName,
} from '@priorbook/sdk/journal/format'
import { Pace } from '../lib/pace.ts'
import { toClosingMark, type SealedBlock } from './block-builder.ts'
import { PackedBatch, PlainBatch } from './pack-batch.ts'
import { syncFolder, toDiskError, writeFully } from './disk.ts'
import { newestIndex } from './retention.ts'

/** Which files of a venue's journal to rewrite. */
export type PackOrder = {
  readonly dir: string
  readonly venue: VenueId
  /** Of the time, the share in which this process works; the rest belongs to others. 1 by default. */
  readonly share?: number
  readonly signal?: AbortSignal
  /** Also the newest file, which no writer may have open. */
  readonly withNewest?: boolean
  /** Files that are not tried, because they were found damaged before. */
  readonly without?: ReadonlySet<string>
}

/** What was rewritten. */
export type PackReport = {
  files: number
  records: number
  /** Bytes of these files before and after. */
  before: number
  after: number
  /** Files that were left as they are because a part of them cannot be read. */
  readonly damaged: string[]
}

// A file while it is written, with the process that writes it; readers ignore such names.
const UNFINISHED = /^\d{16}\.pbj\.(\d+)-[0-9a-f]+\.packing$/

/**
 * Packs the finished files of a journal: messages of one shape become a template and columns. A packed file takes the
 * place of the original only after every record was read back from it and is equal. A kill at any moment leaves either
 * the original or the packed file, and at most a file without a meaning, which the next pass removes.
 */
export function packJournal(order: PackOrder): Promise<PackReport> {
  return rewriteJournal(order, 2)
}

/** Writes packed files as they were before, in the same careful way. */
export function unpackJournal(order: PackOrder): Promise<PackReport> {
  return rewriteJournal(order, 1)
}

async function rewriteJournal(order: PackOrder, version: FormatVersion): Promise<PackReport> {
  const report: PackReport = { files: 0, records: 0, before: 0, after: 0, damaged: [] }
  const names = listSegments(order.dir, order.venue)
  removeLeftovers(join(order.dir, order.venue))
  const end = order.withNewest === true ? names.length : Math.max(0, newestIndex(names))
  for (const name of names.slice(0, end)) {
    if (name.isAway || order.without?.has(name.path) === true) continue
    order.signal?.throwIfAborted()
    await rewriteFile(name, version, new Pace(order), report)
  }
  return report
}

async function rewriteFile(
  name: SegmentName,
  version: FormatVersion,
  pace: Pace,
  report: PackReport,
): Promise<void> {
  const before = statSync(name.path, { throwIfNoEntry: false })
  const segment = before === undefined ? undefined : openSegment(name)
  if (before === undefined || segment === undefined || segment.name.isAway) return
  // The number of a process is not unique where containers share a folder.
  const path = `${name.path}.${process.pid}-${randomBytes(6).toString('hex')}.packing`
  try {
    if (segment.header?.version === version) return
    const records = await writeCopy(segment, path, version, pace)
    const isGood = records !== undefined && (await isEqual(name, path, pace))
    // Retention, or a move to other storage, may have removed the file since.
    if (statSync(name.path, { throwIfNoEntry: false })?.ino !== before.ino) return
    if (!isGood) {
      report.damaged.push(name.path)
      return
    }
    // When the file was written decides when it may leave this machine.
    utimesSync(path, before.atime, before.mtime)
    if (statSync(name.path, { throwIfNoEntry: false })?.ino !== before.ino) return
    const { size: after } = statSync(path)
    renameSync(path, name.path)
    syncFolder(dirname(name.path))
    report.files++
    report.records += records
    report.before += before.size
    report.after += after
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw error
    throw toDiskError(error, path)
  } finally {
    segment.close()
    rmSync(path, { force: true })
  }
}

/** Writes a copy and makes it durable; returns its records, undefined where the original has bad bytes. */
async function writeCopy(
  segment: Segment,
  path: string,
  version: FormatVersion,
  pace: Pace,
): Promise<number | undefined> {
  const { header, name } = segment
  if (header === undefined) return undefined
  const fd = openSync(path, 'wx', 0o600)
  try {
    writeFully(fd, toFileHeader({ ...header, version }), 0)
    let at = FILE_HEADER_BYTES
    const seed = toChecksumSeed(name.venue, name.first)
    const write = (blocks: readonly SealedBlock[], origin: JournalBlock['origin']): void => {
      for (const block of blocks) {
        writeBlockHeader(block.bytes, { ...block, segment: header.segment, origin }, seed)
        writeFully(fd, block.bytes, at)
        at += block.bytes.length
      }
    }
    const batch = version === 2 ? new PackedBatch() : new PlainBatch()
    let records = 0
    for (const item of readSegmentBlocks(segment)) {
      if (item.kind === 'damage') return undefined
      if (item.kind === 'mark') {
        write(batch.take(), header.origin)
        write([toClosingMark(item.next)], header.origin)
        continue
      }
      if (!batch.takes(item)) {
        write(batch.take(), header.origin)
        await pace.step()
      }
      batch.add(item)
      records += item.count
    }
    write(batch.take(), header.origin)
    fsyncSync(fd)
    return records
  } finally {
    closeSync(fd)
  }
}

// What processes left that were killed.
function removeLeftovers(folder: string): void {
  const names = existsSync(folder) ? readdirSync(folder) : []
  for (const name of names) {
    const [, pid] = UNFINISHED.exec(name) ?? []
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(folder, name), { force: true })
  }
}

function isRunning(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

// Reads both files and compares every record, in the order of the journal.
async function isEqual(name: SegmentName, packed: string, pace: Pace): Promise<boolean> {
  const original = openSegment(name)
  const copy = openSegment({ ...name, path: packed })
  try {
    if (original === undefined || copy === undefined || original.name.isAway) return false
    const blocks = blocksOf(copy)
    let place: Place | undefined
    for (const block of readSegmentBlocks(original)) {
      if (block.kind === 'damage') return false
      if (block.kind === 'mark') continue
      for (let index = 0; index < block.count; index++) {
        if (place === undefined || place.index === place.block.count) {
          const next = blocks.next()
          if (next.done === true) return false
          place = { block: next.value, index: 0 }
        }
        if (!isSame(block, index, place.block, place.index++)) return false
      }
      await pace.step()
    }
    const isAtEnd = place === undefined || place.index === place.block.count
    return isAtEnd && blocks.next().done === true
  } catch (error) {
    // A copy that cannot be read back is not equal.
    if (error instanceof PriorbookError && error.code === 'corrupt_journal') return false
    throw error
  } finally {
    original?.close()
    copy?.close()
  }
}

type Place = { readonly block: JournalBlock; index: number }

function* blocksOf(segment: Segment): Generator<JournalBlock, void, void> {
  for (const block of readSegmentBlocks(segment)) {
    if (block.kind === 'damage') {
      throw new PriorbookError('corrupt_journal', `${segment.name.path} cannot be read back`)
    }
    if (block.kind === 'block') yield block
  }
}

function isSame(one: JournalBlock, at: number, other: JournalBlock, index: number): boolean {
  return (
    one.first + at === other.first + index &&
    one.received[at] === other.received[index] &&
    one.kinds[at] === other.kinds[index] &&
    one.slots[at] === other.slots[index] &&
    one.origin === other.origin &&
    one.recorder === other.recorder &&
    Buffer.compare(one.bytes[at]!, other.bytes[index]!) === 0
  )
}
