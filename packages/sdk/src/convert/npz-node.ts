import { MAX_ZIP_BYTES, ZipFrame } from './zip-node.ts'

/**
 * The bytes of a NumPy archive around the records of its only array
 * (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
 */
export type NpzFrame = {
  readonly begin: Uint8Array
  /** The bytes of `begin` that are part of the array's file. */
  readonly npy: Uint8Array
  /** The bytes after the records; `check` is the CRC-32 of `npy` and the records. */
  end(check: number): Uint8Array
}

/** Frames `rows` records of a type that NumPy calls `descr`; undefined where they are too many for one file. */
export function frameNpz(descr: string, rowBytes: number, rows: number): NpzFrame | undefined {
  const npy = npyHeader(descr, rows)
  const size = npy.length + rows * rowBytes
  if (size > MAX_ZIP_BYTES) return undefined
  const zip = new ZipFrame()
  return {
    npy,
    begin: Buffer.concat([zip.begin('data.npy'), npy]),
    end: (check) => Buffer.concat([zip.end(size, check), zip.finish()]),
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
