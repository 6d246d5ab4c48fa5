import { createHmac, randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { Micros } from '@priorbook/sdk/domain'
import { inTransaction } from './control.ts'
import { createKeyText } from './key-text.ts'

const SECRET_BYTES = 32

/** The secrets of a purpose, newest first; one is created when there is none. */
export function readSecrets(
  database: DatabaseSync,
  purpose: 'cursor' | 'demo_key',
  now: Micros,
): readonly Uint8Array[] {
  const all = database.prepare('SELECT value FROM secret WHERE purpose = ? ORDER BY id DESC')
  const read = (): Uint8Array[] => all.all(purpose).map((row) => row['value'] as Uint8Array)
  const known = read()
  if (known.length > 0) return known
  return inTransaction(database, () => {
    // Another process may have created one meanwhile.
    const others = read()
    if (others.length > 0) return others
    const value = randomBytes(SECRET_BYTES)
    database
      .prepare('INSERT INTO secret (purpose, value, created) VALUES (?, ?, ?)')
      .run(purpose, value, now)
    return [value]
  })
}

/** A secret of its own for a part of the service, such as the demo. */
export function deriveSecret(secret: Uint8Array, purpose: string): Uint8Array {
  return createHmac('sha256', secret).update(purpose).digest()
}

/**
 * The key of an emulated data folder: derived from a secret of the folder, so that it can be shown at
 * every start although no key is ever stored.
 */
export function deriveKeyText(secret: Uint8Array): string {
  // Bytes from 248 on are skipped: taken modulo 62 they would favour some digits.
  const bytes: number[] = []
  for (let block = 0; bytes.length < 30; block++) {
    bytes.push(...deriveSecret(secret, `digits ${block}`).filter((byte) => byte < 248))
  }
  let next = 0
  return createKeyText(() => bytes[next++]! % 62)
}
