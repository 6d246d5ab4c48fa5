import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A folder that is gone when the test ends. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-objects-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A command line that runs another one with a disk of this size at the folder, and nowhere else. */
export function onSmallDisk(folder: string, size: string): string[] {
  const mount = 'mount -t tmpfs -o "size=$0" none "$1" && shift && exec "$@"'
  return ['-rm', 'sh', '-c', mount, size, folder]
}
