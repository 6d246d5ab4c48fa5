import { spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { countOf, createTempFolder } from './temp-folder.testing.ts'

const CHILD = join(import.meta.dirname, 'disk-writer.testing.ts')
const isWindows = process.platform === 'win32'

/** What a process saw of a store: up to which batch it went, and what was wrong with it. */
type Seen = { readonly count: number; readonly troubles: readonly string[] }

type Filled = {
  /** Codes of the appends that failed, then of those that were tried again alone. */
  readonly codes: readonly string[]
  readonly again: readonly string[]
  readonly stored: number
  readonly here: Seen
  readonly elsewhere: Seen
}

function run(command: string, args: readonly string[]): unknown {
  const { stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

/** Every append either is stored whole or failed with the code; both processes see the same. */
function expectWhole(result: Filled, code: string): void {
  expect(result.stored).toBeGreaterThan(5)
  expect(new Set(result.codes)).toEqual(new Set([code]))
  expect(result.again.slice(0, -1).every((again) => again === 'none')).toBe(true)
  expect(['none', code]).toContain(result.again.at(-1))
  const count = result.stored + result.again.filter((again) => again === 'none').length
  expect(result.here).toEqual({ count, troubles: [] })
  expect(result.elsewhere).toEqual({ count, troubles: [] })
}

describe('a full disk', () => {
  test.skipIf(isWindows)(
    'a file that may not grow keeps what was stored, and no half batch',
    () => {
      const folder = createTempFolder()
      const limited = ['-c', 'trap "" XFSZ; ulimit -f 700; exec "$0" "$@"', process.execPath]
      const result = run('sh', [...limited, CHILD, 'limit', folder, '1']) as Filled
      // SQLite tells a file that is too big from a disk that is full.
      expectWhole(result, 'store_unavailable')
      // Without the limit everything is still there.
      const seen = run(process.execPath, [CHILD, 'read', folder, '1']) as Seen
      expect(seen).toEqual(result.here)
    },
  )

  test('accepts the same batches once there is space; a read-only disk has its own code', (context) => {
    const folder = createTempFolder()
    const mount = 'mount -t tmpfs -o "size=$0" none "$1" && shift && exec "$@"'
    const inside = (size: string): string[] => ['-rm', 'sh', '-c', mount, size, folder]
    if (spawnSync('unshare', [...inside('1m'), 'true']).status !== 0) {
      context.skip('no private tmpfs can be mounted here')
    }
    // Other sizes are full at other points: in an append, in packing, in a checkpoint.
    for (let seed = 1; seed <= countOf(12, 2); seed++) {
      const args = [...inside(`${1300 + seed * 37}k`), process.execPath, CHILD, 'full', folder]
      const result = run('unshare', [...args, String(seed)]) as Filled & {
        readonly after: string[]
      }
      expectWhole(result, 'disk_full')
      const count = result.stored + result.codes.length
      expect(result).toMatchObject({
        seal: 'none',
        end: { count, troubles: [] },
        remount: 0,
        readOnly: 'store_read_only',
      })
      expect(new Set(result.after)).toEqual(new Set(['none']))
    }
  })
})

describe('a read-only folder or file', () => {
  test.skipIf(isWindows)('is refused when opened for writing, and stays readable', () => {
    const folder = createTempFolder()
    chmodSync(folder, 0o777)
    expect(run(process.execPath, [CHILD, 'permissions', folder, '1'])).toEqual({
      refused: {
        databaseOnly: 'store_read_only',
        files: 'store_read_only',
        folderToo: 'store_read_only',
        folderOnly: 'store_read_only',
        elsewhere: 'store_read_only',
        append: 'store_read_only',
      },
      read: { readFiles: { count: 1, troubles: [] }, readFolder: { count: 1, troubles: [] } },
      healed: 'none',
    })
  })
})
