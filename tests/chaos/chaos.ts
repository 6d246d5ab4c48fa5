import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

// `npm run chaos -- --minutes N [--page FILE] [--keep FOLDER]`: emulated venues with faults, a service that records and
// serves them, readers of pages and of the stream, `kill -9` and full disks, all together. At the end an independent
// checker compares everything with what was on the wire. Prints one page; the exit status is 1 where a promise broke.

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
    speed: { type: 'string', default: '2' },
    // A file of Markdown that gets the page too.
    page: { type: 'string' },
    // A folder that gets the data and the log of the wire where the tape was wrong.
    keep: { type: 'string' },
  },
})
const RUN = join(import.meta.dirname, 'chaos-run.ts')
const DISK_MB = 64 + Math.ceil(Number(values.minutes) * 24 * Number(values.speed))
const disk = mkdtempSync(join(tmpdir(), 'priorbook-chaos-'))
// A file system of its own that only these processes see: a mount without rights of root.
const mount = `mount -t tmpfs -o size=${DISK_MB}m none "$0" && exec "$@"`
const inMount = ['-rm', 'sh', '-c', mount, disk]
const canMount = spawnSync('unshare', [...inMount, 'true']).status === 0
const order = JSON.stringify({ ...values, disk, canFill: canMount })
// The log of the wire is in memory: half a million books take 4 GB while they are compared.
const own = [`--max-old-space-size=${4000 + 120 * Number(values.minutes)}`, RUN, order]
const child = canMount
  ? spawn('unshare', [...inMount, process.execPath, ...own], { stdio: 'inherit' })
  : spawn(process.execPath, own, { stdio: 'inherit' })
process.on('SIGINT', () => child.kill('SIGTERM'))
child.on('close', (code) => {
  rmSync(disk, { recursive: true, force: true })
  process.exitCode = code ?? 1
})
