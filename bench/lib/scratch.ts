import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs work with a folder of its own, which is gone afterwards. */
export async function withScratch<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The median time of this machine for a small write and its sync, beside every durable figure. */
export function syncMs(folder: string): number {
  const file = openSync(join(folder, 'sync-probe'), 'w')
  const times: number[] = []
  for (let round = 0; round < 200; round++) {
    const start = performance.now()
    writeSync(file, new Uint8Array(4096), 0, 4096, round * 4096)
    fdatasyncSync(file)
    times.push(performance.now() - start)
  }
  closeSync(file)
  return times.sort((a, b) => a - b)[100]!
}
