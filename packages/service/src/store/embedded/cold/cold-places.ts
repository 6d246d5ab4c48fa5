import { randomInt } from 'node:crypto'
import type { Column, Database, Row } from '../database.ts'
import { placesOfBody } from '../directory.ts'
import { checkRow, insertRow } from '../row-sum.ts'
import { findState, STATE, writeState } from '../state.ts'

/** Where a chunk is that left the database. */
export type ColdPlace = {
  readonly body: number
  /** The storage that has the segment, and the name of the segment in it. */
  readonly address: string
  readonly name: string
  /** The size of the segment. */
  readonly size: number
  readonly start: number
  readonly length: number
  /** CRC-32 of the bytes. */
  readonly crc: number
  /** The hash that the next chunk of the stream repeats; of a pack those of all its chunks. */
  readonly hash: Uint8Array
}

/** A segment whose chunks left the database. */
export type Segment = {
  readonly id: number
  readonly address: string
  readonly name: string
  readonly size: number
  /** How many chunks it holds. */
  readonly chunks: number
  /** SHA-256 of all of it. */
  readonly hash: Uint8Array
  /** When it was written. */
  readonly made: number
  /** The tape that wrote it; a copy of that tape refers to it too, and must not remove it. */
  readonly owner: number
  /** Since when no chunk in it is wanted; null while some are. */
  readonly unused: number | null
}

const COLD = ['body', 'segment', 'start', 'length', 'crc', 'hash']
const SEGMENT = ['id', 'address', 'name', 'size', 'chunks', 'hash', 'made', 'owner', 'unused']

/** Adds the bytes of a chunk. A number is never given twice, also not those of chunks that left. */
export function insertBody(database: Database, bytes: Uint8Array): number {
  return database.run(
    `INSERT INTO body (id, bytes) VALUES (max(
       coalesce((SELECT max(id) FROM body), 0), coalesce((SELECT max(body) FROM cold), 0)) + 1, ?)`,
    bytes,
  )
}

/** True where the bytes of a chunk left the database. */
export function isCold(database: Database, body: number): boolean {
  return database.get('SELECT 1 AS found FROM cold WHERE body = ?', body) !== undefined
}

/** Where the bytes of a chunk are; undefined where they did not leave the database. */
export function findCold(database: Database, body: number): ColdPlace | undefined {
  const row = database.get(`SELECT ${COLD.join(', ')}, sum FROM cold WHERE body = ?`, body)
  if (row === undefined) return undefined
  checkRow('cold', COLD, row)
  const segment = readSegment(database, row['segment'] as number)
  if (segment === undefined) return undefined
  const { address, name, size } = segment
  return { ...toPlace(row), address, name, size }
}

/**
 * The hash of a chunk whose bytes left the database; undefined where they did not, or where an entry of their body is
 * damaged or missing: then only the bytes tell which hash of a pack is whose.
 */
export function coldHashOf(
  database: Database,
  { body, first }: { readonly body: number; readonly first: number },
): Uint8Array | undefined {
  const place = findCold(database, body)
  if (place === undefined) return undefined
  const chunks = placesOfBody(database, body)
  const isWhole = chunks.length * HASH_BYTES === place.hash.length && !chunks.includes(undefined)
  const at = chunks.findIndex((chunk) => chunk?.first === first)
  return isWhole && at >= 0
    ? place.hash.subarray(HASH_BYTES * at, HASH_BYTES * (at + 1))
    : undefined
}

/** The hash of the last chunk of a body whose bytes left the database; undefined where they did not. */
export function lastColdHash(database: Database, body: number): Uint8Array | undefined {
  return findCold(database, body)?.hash.subarray(-HASH_BYTES)
}

const HASH_BYTES = 32

/**
 * Notes a segment. A process that was killed may have written the same one before: then it keeps its number.
 * The caller is in a write transaction.
 */
export function saveSegment(database: Database, segment: Omit<Segment, 'id'>): number {
  const { address, name, size, chunks, hash, made, owner, unused } = segment
  const known = database.get('SELECT id FROM segment WHERE address = ? AND name = ?', address, name)
  const last = database.get('SELECT coalesce(max(id), 0) AS id FROM segment')!['id'] as number
  const id = (known?.['id'] as number | undefined) ?? last + 1
  const values: Column[] = [id, address, name, size, chunks, hash, made, owner, unused]
  insertRow(database, 'INSERT OR REPLACE INTO segment', SEGMENT, values)
  return id
}

/** Notes that the bytes of a chunk are in a segment, and removes them; in a write transaction. */
export function moveBody(
  database: Database,
  segment: number,
  { body, start, length, crc, hash }: Omit<ColdPlace, 'address' | 'name' | 'size'>,
): void {
  insertRow(database, 'INSERT INTO cold', COLD, [body, segment, start, length, crc, hash])
  database.run('DELETE FROM body WHERE id = ?', body)
}

/** The segments after one, in the order of their numbers. */
export function listSegments(database: Database, after: number, limit: number): Segment[] {
  const sql = `SELECT ${SEGMENT.join(', ')}, sum FROM segment WHERE id > ? ORDER BY id LIMIT ?`
  return database.all(sql, after, limit).map(toSegment)
}

/** The chunks of a segment that are still wanted, in the order of their bytes. */
export function placesIn(database: Database, segment: Segment): ColdPlace[] {
  const { address, name, size } = segment
  const sql = `SELECT ${COLD.join(', ')}, sum FROM cold WHERE segment = ? ORDER BY start`
  return database.all(sql, segment.id).map((row) => {
    checkRow('cold', COLD, row)
    return { ...toPlace(row), address, name, size }
  })
}

/** When the last segment was written whose name begins so; 0 where there is none. */
export function lastMade(database: Database, prefix: string): number {
  const sql = 'SELECT coalesce(max(made), 0) AS made FROM segment WHERE substr(name, 1, ?) = ?'
  return database.get(sql, prefix.length, prefix)!['made'] as number
}

/** What the segments hold, at one address or all; chunks that retention removed are counted until their segment goes. */
export function countCold(database: Database, address?: string): ColdCounts {
  const sql = `SELECT count(*) AS segments, coalesce(sum(size), 0) AS bytes,
    coalesce(sum(chunks), 0) AS chunks FROM segment WHERE ? IS NULL OR address = ?`
  return database.get(sql, address ?? null, address ?? null) as unknown as ColdCounts
}

/** The addresses of the segments that the tape needs. */
export function listAddresses(database: Database): string[] {
  const sql = `SELECT DISTINCT address FROM segment
    WHERE EXISTS (SELECT 1 FROM cold WHERE segment = segment.id) ORDER BY address`
  return database.all(sql).map((row) => row['address'] as string)
}

/** What is in other storage. */
export type ColdCounts = {
  readonly segments: number
  readonly bytes: number
  readonly chunks: number
}

/** True where chunks that left are in an object of that name, at whatever address. */
export function isNeeded(database: Database, name: string): boolean {
  const sql = `SELECT 1 AS found FROM segment WHERE name = ?
    AND EXISTS (SELECT 1 FROM cold WHERE segment = segment.id)`
  return database.get(sql, name) !== undefined
}

/** The number of this tape, drawn when it is first asked for; a backup draws its own. In a write transaction. */
export function ownerOf(database: Database): number {
  const known = findState(database, STATE.owner)
  if (known !== undefined) return known
  const drawn = randomInt(1, 2 ** 47)
  writeState(database, STATE.owner, drawn)
  return drawn
}

/** The segments of which no chunk is wanted any more. */
export function listUnused(database: Database): Segment[] {
  return database
    .all(
      `SELECT ${SEGMENT.join(', ')}, sum FROM segment
       WHERE NOT EXISTS (SELECT 1 FROM cold WHERE segment = segment.id)`,
    )
    .map(toSegment)
}

/** Forgets a segment that was removed from the storage. */
export function forgetSegment(database: Database, { id }: Segment): void {
  database.write(() => database.run('DELETE FROM segment WHERE id = ?', id))
}

function readSegment(database: Database, id: number): Segment | undefined {
  const row = database.get(`SELECT ${SEGMENT.join(', ')}, sum FROM segment WHERE id = ?`, id)
  return row === undefined ? undefined : toSegment(row)
}

function toSegment(row: Row): Segment {
  checkRow('segment', SEGMENT, row)
  return {
    id: row['id'] as number,
    address: row['address'] as string,
    name: row['name'] as string,
    size: row['size'] as number,
    chunks: row['chunks'] as number,
    hash: row['hash'] as Uint8Array,
    made: row['made'] as number,
    owner: row['owner'] as number,
    unused: row['unused'] as number | null,
  }
}

function toPlace(row: Row): Omit<ColdPlace, 'address' | 'name' | 'size'> {
  return {
    body: row['body'] as number,
    start: row['start'] as number,
    length: row['length'] as number,
    crc: row['crc'] as number,
    hash: row['hash'] as Uint8Array,
  }
}
