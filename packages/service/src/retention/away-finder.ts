import { setTimeout as pause } from 'node:timers/promises'
import { findAway, type FoundFiles } from '../journal/index.ts'
import { openObjects } from '../objects/open-objects.ts'

type Log = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

const WAIT_MS = 600_000

/** Looks once for files of journals in other storage that a folder does not know of. */
export function findAwayAt(journalDir: string, address: string): Promise<FoundFiles> {
  return findAway(journalDir, openObjects(address, process.env, false))
}

/**
 * Looks for files of journals that recorders of a shared tape moved to other storage, again and again until it is
 * stopped, so that this node can show the raw messages of rows.
 */
export async function findAwayRegularly(
  journalDir: string,
  address: string,
  signal: AbortSignal,
  log: Log,
): Promise<void> {
  let last: string | undefined
  while (!signal.aborted) {
    try {
      const files = await findAwayAt(journalDir, address)
      if (files.found > 0) log.info({ ...files, address }, 'files of journals were found')
      last = undefined
    } catch (error) {
      const trouble = error instanceof Error ? error.message : String(error)
      if (trouble !== last) log.warn({ error: trouble, address }, 'journals are not looked for')
      last = trouble
    }
    await pause(WAIT_MS, undefined, { signal }).catch(() => undefined)
  }
}
