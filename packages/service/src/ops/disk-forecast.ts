import { readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** What is known of the disk under a data folder. */
export type DiskState = {
  readonly usedBytes: number
  readonly freeBytes: number
  /** How fast the folder grew lately; 0 before the second look. */
  readonly bytesPerSecond: number
  /** Seconds until nothing is left at that pace; absent while the folder does not grow. */
  readonly fullInSeconds?: number
}

// The pace is measured over this long: shorter ones show single checkpoints, not the growth.
const WINDOW_MS = 10 * 60_000

/** Watches how fast a data folder grows. */
export function createDiskForecast(folder: string): () => DiskState {
  const looks: { readonly at: number; readonly used: number }[] = []
  return () => {
    const at = performance.now()
    const used = sizeOf(folder)
    looks.push({ at, used })
    while (looks.length > 2 && looks[0]!.at < at - WINDOW_MS) looks.shift()
    const { at: since, used: before } = looks[0]!
    const elapsed = (at - since) / 1000
    const bytesPerSecond = elapsed < 1 ? 0 : Math.max(0, (used - before) / elapsed)
    const { bavail, bsize } = statfsSync(folder)
    const freeBytes = bavail * bsize
    const state = { usedBytes: used, freeBytes, bytesPerSecond }
    return bytesPerSecond === 0 ? state : { ...state, fullInSeconds: freeBytes / bytesPerSecond }
  }
}

function sizeOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return 0
  if (!stat.isDirectory()) return stat.size
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}
