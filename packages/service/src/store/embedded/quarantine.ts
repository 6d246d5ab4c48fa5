import type { ErrorCode, VenueId, Violation } from '@priorbook/sdk/domain'
import type { Quarantined, QuarantinePage } from '../store.ts'
import type { Column, Database } from './database.ts'
import type { RemovalOrder, RemovalStep } from './retention.ts'
import { checkRow, insertRow } from './row-sum.ts'

// Max bytes of a message per row; the journal keeps the whole message.
const RAW_LIMIT = 65_536
const COLUMNS = ['venue', 'key', 'journal', 'received', 'code', 'detail', 'raw']

/** Stores a message that could not be used, once per message. */
export function saveQuarantine(database: Database, message: Quarantined): void {
  const values: Column[] = [
    message.venue,
    message.key,
    message.journal,
    message.received,
    message.code,
    message.detail,
    message.raw.subarray(0, RAW_LIMIT),
  ]
  insertRow(database, 'INSERT OR IGNORE INTO quarantine', COLUMNS, values)
}

/** Lists quarantined messages by arrival. */
export function listQuarantine(
  database: Database,
  { venue, after, order = 'asc', limit }: QuarantinePage,
): (Quarantined & { id: number })[] {
  const isDown = order === 'desc'
  const rows = database.all(
    `SELECT id, ${COLUMNS.join(', ')}, sum FROM quarantine
     WHERE id ${isDown ? '<' : '>'} ? AND (? IS NULL OR venue = ?) ORDER BY id ${order} LIMIT ?`,
    after ?? (isDown ? Number.MAX_SAFE_INTEGER : 0),
    venue ?? null,
    venue ?? null,
    limit,
  )
  return rows.map((row) => {
    checkRow('quarantine', COLUMNS, row)
    return {
      id: row['id'] as number,
      venue: row['venue'] as VenueId,
      key: row['key'] as string,
      journal: row['journal'] as number,
      received: row['received'] as number,
      code: row['code'] as ErrorCode | Violation,
      detail: row['detail'] as string,
      raw: row['raw'] as Uint8Array,
    }
  })
}

// Bounds a step: an append waits for it.
const STEP_ROWS = 1024

/** Removes some messages of a venue that were received before a time, among the next few by number. */
export function removeQuarantined(database: Database, order: RemovalOrder): RemovalStep {
  const { before, after, venue = null, isDryRun = false } = order
  const until = after + STEP_ROWS
  const where = 'id > ? AND id <= ? AND (? IS NULL OR venue = ?) AND received < ?'
  const values: Column[] = [after, until, venue, venue, before]
  const found = database.get(
    `SELECT count(*) AS rows, coalesce(sum(length(raw) + length(detail)), 0) AS bytes
     FROM quarantine WHERE ${where}`,
    ...values,
  ) as { rows: number; bytes: number }
  if (!isDryRun && found.rows > 0) {
    database.write(() => database.run(`DELETE FROM quarantine WHERE ${where}`, ...values))
  }
  const newest = database.get('SELECT max(id) AS id FROM quarantine')?.['id'] as number | null
  return { chunks: 0, ...found, next: until < (newest ?? 0) ? until : undefined }
}
