import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Creates a folder and the folders above it that are missing; returns the topmost one that it created, or undefined.
 * `mkdirSync` with `recursive` never returns where the system refuses a folder with ENOENT although the one above
 * exists, as it does in /proc: it then tries again for ever.
 */
export function makeFolder(folder: string, mode?: number): string | undefined {
  const missing: string[] = []
  for (let at = resolve(folder); !existsSync(at) && dirname(at) !== at; at = dirname(at)) {
    missing.unshift(at)
  }
  let first: string | undefined
  for (const path of missing.length === 0 ? [resolve(folder)] : missing) {
    try {
      mkdirSync(path, mode)
      first ??= path
    } catch (error) {
      // It is there already, or another process was faster.
      const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST' && isFolder(path)
      if (!isThere) throw error
    }
  }
  return first
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
