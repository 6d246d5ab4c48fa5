/**
 * The bytes of a NumPy archive with one array of records: a ZIP file whose only entry is stored as it is
 * (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, APPNOTE 6.3). Sizes and check follow the
 * entry, so that it is written in one pass.
 */
export type NpzFrame = {
  readonly begin: Uint8Array
  /** The bytes after the records; `check` is the CRC-32 of `npy` and the records. */
  end(check: number): Uint8Array
  /** The bytes of `begin` that belong to the entry. */
  readonly npy: Uint8Array
}

// Larger files need ZIP64.
const MAX_BYTES = 0xffff_ffff

const NAME = Buffer.from('data.npy')
// Sizes and check come after the data.
const DESCRIPTOR_FOLLOWS = 8
const VERSION = 20
// 1980-01-01, the first day that the format can name: the same rows give the same bytes.
const DATE = 0x21

/** Frames `rows` records of a type that NumPy calls `descr`; undefined where they are too many for one file. */
export function frameNpz(descr: string, rowBytes: number, rows: number): NpzFrame | undefined {
  const npy = npyHeader(descr, rows)
  const size = npy.length + rows * rowBytes
  if (size > MAX_BYTES - 1024) return undefined
  const local = Buffer.alloc(30)
  local.writeUInt32LE(0x04034b50, 0)
  local.writeUInt16LE(VERSION, 4)
  local.writeUInt16LE(DESCRIPTOR_FOLLOWS, 6)
  local.writeUInt16LE(DATE, 12)
  local.writeUInt16LE(NAME.length, 26)
  return {
    npy,
    begin: Buffer.concat([local, NAME, npy]),
    end: (check) => zipEnd(check, size, local.length + NAME.length),
  }
}

function npyHeader(descr: string, rows: number): Buffer {
  const text = `{'descr': ${descr}, 'fortran_order': False, 'shape': (${rows},), }`
  // Magic, version and length take 10 bytes, a line feed ends the text; the records begin at a multiple of 64.
  const padded = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11)
  const head = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 0, 0])
  head.writeUInt16LE(padded.length + 1, 8)
  return Buffer.concat([head, Buffer.from(`${padded}\n`)])
}

function zipEnd(check: number, size: number, before: number): Buffer {
  const descriptor = Buffer.alloc(16)
  descriptor.writeUInt32LE(0x08074b50, 0)
  descriptor.writeUInt32LE(check, 4)
  descriptor.writeUInt32LE(size, 8)
  descriptor.writeUInt32LE(size, 12)
  const entry = Buffer.alloc(46)
  entry.writeUInt32LE(0x02014b50, 0)
  entry.writeUInt16LE(VERSION, 4)
  entry.writeUInt16LE(VERSION, 6)
  entry.writeUInt16LE(DESCRIPTOR_FOLLOWS, 8)
  entry.writeUInt16LE(DATE, 14)
  entry.writeUInt32LE(check, 16)
  entry.writeUInt32LE(size, 20)
  entry.writeUInt32LE(size, 24)
  entry.writeUInt16LE(NAME.length, 28)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(entry.length + NAME.length, 12)
  end.writeUInt32LE(before + size + descriptor.length, 16)
  return Buffer.concat([descriptor, entry, NAME, end])
}
