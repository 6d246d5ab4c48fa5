import { crc32 } from 'node:zlib'
import type { SegmentStats } from './record.ts'

/**
 * A file of a journal that is in other storage: where it is, and what it holds. In the folder of the journal a
 * small file of the same number, with the ending `.away`, says so.
 */
export type AwayFile = {
  /** The storage, the name of the object in it, and its size. */
  readonly address: string
  readonly name: string
  readonly size: number
  /** SHA-256 of all bytes, in hexadecimal. */
  readonly hash: string
  /** The tape whose recorder moved it; a copy of the folder must not remove it. */
  readonly owner: number
  /** The file header in base64. */
  readonly header: string
  /** Offset and first record number of some blocks, in order, so that a record is found without a walk. */
  readonly marks: readonly (readonly [offset: number, first: number])[]
  readonly stats: Omit<SegmentStats, 'file'>
  /** True where the note was found in the storage: another folder moved the file. */
  readonly isFound?: boolean
}

/** Reads bytes of a file that is in other storage; fewer only where it ends. */
export type ReadAway = (file: AwayFile, offset: number, length: number) => Uint8Array

const NOTE = /^(\{.*\})\n([0-9a-f]{8})\n$/s

/** The text of the note on a file that is away. */
export function printAway(file: AwayFile): string {
  const text = JSON.stringify(file)
  return `${text}\n${sumOf(text)}\n`
}

/** Reads such a text; undefined where it is damaged. */
export function parseAway(text: string): AwayFile | undefined {
  const [, json, sum] = NOTE.exec(text) ?? []
  return json === undefined || sumOf(json) !== sum ? undefined : (JSON.parse(json) as AwayFile)
}

function sumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, '0')
}
