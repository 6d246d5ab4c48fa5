import { readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The state of the disk under a data folder. */
export type DiskState = {
  readonly usedBytes: number
  readonly freeBytes: number
  /** How fast the folder grew lately; 0 until it was measured twice. */
  readonly bytesPerSecond: number
  /** Seconds until the disk is full at that pace; absent while the folder does not grow. */
  readonly fullInSeconds?: number
}

// How long growth is averaged over: shorter windows show single checkpoints instead.
const WINDOW_MS = 10 * 60_000

/** Watches how fast a data folder grows. */
export function createDiskForecast(folder: string): () => DiskState {
  const measured: { readonly at: number; readonly used: number }[] = []
  return () => {
    const at = performance.now()
    const used = sizeOf(folder)
    measured.push({ at, used })
    while (measured.length > 2 && measured[0]!.at < at - WINDOW_MS) measured.shift()
    const { at: since, used: before } = measured[0]!
    const elapsed = (at - since) / 1000
    const bytesPerSecond = elapsed < 1 ? 0 : Math.max(0, (used - before) / elapsed)
    const freeBytes = freeBytesOf(folder)
    const state = { usedBytes: used, freeBytes, bytesPerSecond }
    return bytesPerSecond === 0 ? state : { ...state, fullInSeconds: freeBytes / bytesPerSecond }
  }
}

// A status must not fail for a folder that is gone, be it that its disk was unmounted: nothing can be written there.
function freeBytesOf(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return 0
  }
}

function sizeOf(path: string): number {
  try {
    const stat = statSync(path)
    if (!stat.isDirectory()) return stat.size
    return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
  } catch {
    // It was removed meanwhile, or cannot be read.
    return 0
  }
}
