import { closeSync, openSync, readSync } from 'node:fs'

const HEADER = 32
const FRAME_HEADER = 24
const MAGIC = 0x377f0682

/**
 * Describes the damage of a write-ahead log, if any. SQLite treats a frame with a bad checksum as the
 * end of the log. That is right after a crash, but it hides commits after a damaged frame, and mixes old
 * and new pages where the log had already been copied into the database. At most one commit can have
 * been in flight when a process or machine died: two or more after the first bad frame had been synced,
 * so they are damaged. https://sqlite.org/fileformat2.html#the_write_ahead_log
 */
export function findWalDamage(file: string): string | undefined {
  const bytes = readWhole(file)
  if (bytes === undefined || bytes.length < HEADER + FRAME_HEADER) return undefined
  const log = new WalReader(bytes)
  const good = log.countGood()
  const hidden = log.countCommits(good)
  if (hidden < 2) return undefined
  // A writer may have started a new log while this one was read.
  const again = readWhole(file, HEADER)
  if (again === undefined || Buffer.compare(again, bytes.subarray(0, HEADER)) !== 0)
    return undefined
  return `the write-ahead log is damaged in frame ${good + 1}; ${hidden} commits behind it cannot be read`
}

/** The frames of a log, in the order of bytes that its checksums use. */
class WalReader {
  private readonly view: DataView
  private readonly little: boolean
  private readonly frameSize: number
  private readonly frames: number
  private readonly headerHolds: boolean

  constructor(bytes: Buffer) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.little = this.view.getUint32(0) === MAGIC
    const [a, b] = this.addUp([0, 0], 0, 24)
    this.headerHolds = a === this.view.getUint32(24) && b === this.view.getUint32(28)
    // If the header itself is damaged, assume the usual page size.
    const pageSize = this.headerHolds ? this.view.getUint32(8) : 1024
    this.frameSize = FRAME_HEADER + pageSize
    this.frames = Math.floor((bytes.length - HEADER) / this.frameSize)
  }

  /** How many frames from the start hold their checksum and belong to this log. */
  countGood(): number {
    if (!this.headerHolds) return 0
    let sum: Sum = [this.view.getUint32(24), this.view.getUint32(28)]
    for (let frame = 0; frame < this.frames; frame++) {
      const at = this.startOf(frame)
      if (!this.isOfThisLog(at)) return frame
      sum = this.addUp(sum, at, 8)
      sum = this.addUp(sum, at + FRAME_HEADER, this.frameSize - FRAME_HEADER)
      if (sum[0] !== this.view.getUint32(at + 16) || sum[1] !== this.view.getUint32(at + 20)) {
        return frame
      }
    }
    return this.frames
  }

  /** How many frames from one on end a transaction of this log. */
  countCommits(from: number): number {
    let commits = 0
    for (let frame = from; frame < this.frames; frame++) {
      const at = this.startOf(frame)
      if (this.view.getUint32(at + 4) !== 0 && this.isOfThisLog(at)) commits++
    }
    return commits
  }

  private startOf(frame: number): number {
    return HEADER + frame * this.frameSize
  }

  // Frames of an older log, which was longer, have other salts. One salt may be what was damaged.
  private isOfThisLog(at: number): boolean {
    const first = this.view.getUint32(at + 8) === this.view.getUint32(16)
    const second = this.view.getUint32(at + 12) === this.view.getUint32(20)
    return this.headerHolds ? first && second : first || second
  }

  private addUp(sum: Sum, from: number, length: number): Sum {
    const { view, little } = this
    let [a, b] = sum
    for (let at = from; at < from + length; at += 8) {
      a = (a + view.getUint32(at, little) + b) >>> 0
      b = (b + view.getUint32(at + 4, little) + a) >>> 0
    }
    return [a, b]
  }
}

type Sum = [number, number]

function readWhole(file: string, limit = Infinity): Buffer | undefined {
  let fd: number
  try {
    fd = openSync(file, 'r')
  } catch {
    // Without a log there are no pending commits.
    return undefined
  }
  try {
    const parts: Buffer[] = []
    let length = 0
    while (length < limit) {
      const part = Buffer.allocUnsafe(Math.min(1 << 20, limit - length))
      const read = readSync(fd, part)
      if (read === 0) break
      parts.push(part.subarray(0, read))
      length += read
    }
    return Buffer.concat(parts)
  } finally {
    closeSync(fd)
  }
}
