import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { DiskFullResult } from './disk-full-run.ts'
import { countOf } from './emulated-home.ts'

const RUN = join(import.meta.dirname, 'disk-full-run.ts')
const DISK = 48 * 1024 * 1024
// Other sizes are full at other points: in the journal, in an append, in packing, in a checkpoint.
const FREE = [2_000_000, 2_500_000, 2_950_000, 3_600_000, 5_300_000].slice(0, countOf(5, 1))
/** The promise is 5 s; half of a second of it is the recorder's own pause between attempts. */
const RESUMED_MS = 5_000

// A file system of its own that only the processes below see: a mount without rights of root.
const mountDisk = (folder: string): string[] => [
  '-rm',
  'sh',
  '-c',
  'mount -t tmpfs -o "size=$0" none "$1" && shift && exec "$@"',
  String(DISK),
  folder,
]

function run(command: string, args: readonly string[]): Promise<{ out: string; err: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let out = ''
    let err = ''
    child.stdout.on('data', (chunk) => (out += chunk))
    child.stderr.on('data', (chunk) => (err += chunk))
    child.on('close', () => resolve({ out, err }))
  })
}

test('a full disk is a gap: reads go on, and recording too once there is space', async (context) => {
  const disk = mkdtempSync(join(tmpdir(), 'priorbook-disk-'))
  onTestFinished(() => rmSync(disk, { recursive: true, force: true }))
  if (spawnSync('unshare', [...mountDisk(disk), 'true']).status !== 0) {
    context.skip('no private tmpfs can be mounted here (unshare -rm, mount)')
  }
  for (const free of FREE) {
    const args = [...mountDisk(disk), process.execPath, RUN, disk, String(DISK - free)]
    const { out, err } = await run('unshare', args)
    expect(err).toBe('')
    const result = JSON.parse(out) as DiskFullResult
    expect(result).toMatchObject({
      code: 0,
      noise: [],
      errors: ['the disk is full: nothing is recorded until there is space'],
      openGaps: 0,
      differences: [],
    })
    expect(result.verdict.complaints).toEqual([])
    const { rows, gaps, openBooks, refused, resumedMs, filledMs } = result
    expect(rows.before).toBeGreaterThan(0)
    // Everything that was kept can be read while nothing can be written.
    expect(rows.full).toBeGreaterThan(rows.before)
    expect(rows.end).toBeGreaterThan(rows.full)
    expect(openBooks).toBeGreaterThan(12)
    expect(gaps).toBeGreaterThanOrEqual(openBooks)
    expect(refused).toBeGreaterThan(100)
    expect(resumedMs).toBeLessThan(RESUMED_MS)
    console.log(
      `disk full after ${filledMs} ms, ${rows.full} rows readable meanwhile, ${refused} messages not kept, ${gaps} gaps, recording again ${resumedMs} ms after there was space`,
    )
  }
})
