import { DatabaseSync } from 'node:sqlite'
import { PriorbookError } from '@priorbook/sdk/domain'

/**
 * Keeps a data folder to one writing process. The lock is SQLite's own on a small file: the system
 * frees it when the process ends, however it ends.
 */
export function openWriterLock(file: string): { close(): void } {
  let connection: DatabaseSync | undefined
  try {
    connection = new DatabaseSync(file)
    connection.exec('PRAGMA busy_timeout = 200')
    connection.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    connection?.close()
    const code = ((cause as { errcode?: number }).errcode ?? 0) & 0xff
    if (code === 8 || code === 14) {
      throw new PriorbookError('store_read_only', `${file} cannot be written`, { cause })
    }
    throw new PriorbookError(
      'store_locked',
      `another process already writes here (${file}); stop it first, or open for reading`,
      { cause },
    )
  }
  const held = connection
  return {
    close() {
      held.exec('ROLLBACK')
      held.close()
    },
  }
}
