/**
 * The bytes of a ZIP file between the bytes of its files, which are stored as they are (APPNOTE 6.3). Sizes and checks
 * follow each file, so that it is written in one pass. Without ZIP64: up to 4 GiB.
 */
export class ZipFrame {
  private readonly entries: Buffer[] = []
  private offset = 0
  private name = Buffer.alloc(0)
  private start = 0

  /** The bytes before a file. */
  begin(name: string): Uint8Array {
    this.name = Buffer.from(name)
    this.start = this.offset
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50, 0)
    local.writeUInt16LE(VERSION, 4)
    local.writeUInt16LE(FLAGS, 6)
    local.writeUInt16LE(DATE, 12)
    local.writeUInt16LE(this.name.length, 26)
    return this.sent(Buffer.concat([local, this.name]))
  }

  /** The bytes after a file, which has `size` bytes with the CRC-32 `check`. */
  end(size: number, check: number): Uint8Array {
    this.offset += size
    const descriptor = Buffer.alloc(16)
    descriptor.writeUInt32LE(0x08074b50, 0)
    descriptor.writeUInt32LE(check, 4)
    descriptor.writeUInt32LE(size, 8)
    descriptor.writeUInt32LE(size, 12)
    const entry = Buffer.alloc(46)
    entry.writeUInt32LE(0x02014b50, 0)
    entry.writeUInt16LE(VERSION, 4)
    entry.writeUInt16LE(VERSION, 6)
    entry.writeUInt16LE(FLAGS, 8)
    entry.writeUInt16LE(DATE, 14)
    entry.writeUInt32LE(check, 16)
    entry.writeUInt32LE(size, 20)
    entry.writeUInt32LE(size, 24)
    entry.writeUInt16LE(this.name.length, 28)
    entry.writeUInt32LE(this.start, 42)
    this.entries.push(Buffer.concat([entry, this.name]))
    return this.sent(descriptor)
  }

  /** The bytes after the last file. */
  finish(): Uint8Array {
    const list = Buffer.concat(this.entries)
    const end = Buffer.alloc(22)
    end.writeUInt32LE(0x06054b50, 0)
    end.writeUInt16LE(this.entries.length, 8)
    end.writeUInt16LE(this.entries.length, 10)
    end.writeUInt32LE(list.length, 12)
    end.writeUInt32LE(this.offset, 16)
    return Buffer.concat([list, end])
  }

  private sent(bytes: Buffer): Uint8Array {
    this.offset += bytes.length
    return bytes
  }
}

/** The most bytes that the files of an archive may have together. */
export const MAX_ZIP_BYTES = 0xf000_0000

// Sizes and check come after the data (bit 3), names are UTF-8 (bit 11).
const FLAGS = 0x0808
const VERSION = 20
// 1980-01-01, the first day that the format can name: the same files give the same bytes.
const DATE = 0x21
