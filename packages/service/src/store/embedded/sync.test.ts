import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTempFolder } from './temp-folder.testing.ts'

type Measured = Readonly<
  Record<
    'one' | 'group' | 'packing' | 'seal',
    { readonly unsynced: number; readonly stored: number }
  >
>

/** Bytes that were acknowledged but not on the disk, in a store with this `synchronous`. */
function probe(mode: 'FULL' | 'NORMAL' | 'OFF'): Measured {
  const child = join(import.meta.dirname, 'sync-probe.testing.ts')
  const { stdout, stderr } = spawnSync(process.execPath, [child, createTempFolder(), mode], {
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

// A killed process loses no page that the system still holds, so `kill -9` proves no sync: this does.
test('what append acknowledges is synced, alone, in a group and with packing', (context) => {
  if (process.platform !== 'linux') context.skip('only Linux counts cancelled writes')
  const off = probe('OFF')
  if (off.one.unsynced === 0) context.skip('this file system counts no cancelled writes')
  expect(probe('FULL')).toEqual({
    one: { unsynced: 0, stored: 1 },
    group: { unsynced: 0, stored: 6 },
    packing: { unsynced: 0, stored: 12 },
    seal: { unsynced: 0, stored: 15 },
  })
  // The same store without the sync is found out.
  const normal = probe('NORMAL')
  const isUnsynced = ({ one, group, packing }: Measured): boolean[] =>
    [one, group, packing].map(({ unsynced }) => unsynced > 0)
  expect(isUnsynced(normal)).toEqual([true, true, true])
  expect(isUnsynced(off)).toEqual([true, true, true])
  expect(off.seal.unsynced).toBeGreaterThan(0)
})
