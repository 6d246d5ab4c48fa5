import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openFolderObjects } from '../objects/folder-objects.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { createTempFolder } from '../store/embedded/temp-folder.testing.ts'
import { lockLake } from './lake-lock.ts'

const TIMES = { leaseMs: 300, renewMs: 30 }
// Such a lock is never lost on a slow machine.
const LASTING = { leaseMs: 1e9, renewMs: 30 }

function open(): { readonly folder: string; readonly objects: ObjectStore } {
  const folder = createTempFolder()
  return { folder, objects: openFolderObjects(folder) }
}

/** Writes the lock of another process as it stands on disk. */
function leave(folder: string, entry: object): void {
  mkdirSync(join(folder, '_locks'), { recursive: true })
  const until = new Date(Date.now() + 60_000).toISOString()
  const base = { owner: 'another', host: 'elsewhere', pid: 77, until, is_released: false }
  const number = String(readdirSync(join(folder, '_locks')).length + 1).padStart(12, '0')
  writeFileSync(join(folder, '_locks', `${number}.json`), JSON.stringify({ ...base, ...entry }))
}

/** How a lock names the machine and its processes. */
async function machineOf(): Promise<string> {
  const { objects, folder } = open()
  const lock = await lockLake(objects, LASTING)
  const [name] = readdirSync(join(folder, '_locks'))
  const entry = JSON.parse(readFileSync(join(folder, '_locks', name!), 'utf8')) as {
    readonly machine: string
  }
  await lock.release()
  return entry.machine
}

describe('the lock of a lake', () => {
  it('is refused while another holds it, with the name of its process', async () => {
    const { objects, folder } = open()
    const lock = await lockLake(objects, LASTING)
    const second = lockLake(objects, LASTING)
    await expect(second).rejects.toMatchObject({
      code: 'store_locked',
      message: expect.stringContaining(`process ${process.pid} of ${hostname()}`),
    })
    lock.check()
    await lock.release()
    const again = await lockLake(objects, LASTING)
    again.check()
    await again.release()
    expect(readdirSync(join(folder, '_locks'))).toHaveLength(1)
  })

  it('is got by one of many at a time', async () => {
    const { objects } = open()
    const tries = Array.from({ length: 5 }, () => lockLake(objects, LASTING))
    const results = await Promise.allSettled(tries)
    const got = results.filter((result) => result.status === 'fulfilled')
    expect(got).toHaveLength(1)
    await got[0]!.value.release()
  })

  it('is got at once where its process is gone, or it has expired long ago', async () => {
    // No process has this number: the most is 2^22.
    const gone = { host: hostname(), machine: await machineOf(), pid: 2 ** 22 + 1 }
    for (const entry of [gone, { until: '2026-01-01T00:00:00Z' }, { is_released: true }]) {
      const { objects, folder } = open()
      leave(folder, entry)
      const lock = await lockLake(objects, { leaseMs: 1e9, renewMs: 1e6 })
      expect(() => lock.check()).not.toThrow()
      await lock.release()
    }
  })

  it('waits for a container of the same name, whose processes are not known here', async () => {
    const { objects, folder } = open()
    leave(folder, { host: hostname(), machine: 'another', pid: 2 ** 22 + 1 })
    const waiting = lockLake(objects, { leaseMs: 1e9, renewMs: 10 })
    leave(folder, { host: hostname(), machine: 'another', pid: 2 ** 22 + 1 })
    const renewing = setInterval(() => leave(folder, { machine: 'another' }), 20)
    await expect(waiting).rejects.toMatchObject({ code: 'store_locked' })
    clearInterval(renewing)
  })

  it('is got from a machine that is gone when it is not renewed any more', async () => {
    const { objects, folder } = open()
    leave(folder, {})
    const lock = await lockLake(objects, TIMES)
    const [name] = readdirSync(join(folder, '_locks'))
    expect(JSON.parse(readFileSync(join(folder, '_locks', name!), 'utf8'))).toMatchObject({
      pid: process.pid,
    })
    await lock.release()
  })

  it('is refused where a machine elsewhere renews it', async () => {
    const { objects, folder } = open()
    leave(folder, {})
    const waiting = lockLake(objects, { leaseMs: 1e9, renewMs: 10 })
    // Another entry of the same owner is a renewal, whenever it comes.
    leave(folder, {})
    const renewing = setInterval(() => leave(folder, {}), 20)
    await expect(waiting).rejects.toMatchObject({ code: 'store_locked' })
    clearInterval(renewing)
  })

  it('is lost for a process that stood still, which then writes no more', async () => {
    const { objects, folder } = open()
    const lock = await lockLake(objects, LASTING)
    // Another process took over and renewed, so that the number after ours is free again.
    leave(folder, {})
    leave(folder, {})
    for (const number of [1, 2]) {
      rmSync(join(folder, '_locks', `${String(number).padStart(12, '0')}.json`), { force: true })
    }
    await expect
      .poll(
        () => {
          try {
            lock.check()
            return 'held'
          } catch (error) {
            return (error as { code: string }).code
          }
        },
        { timeout: 60_000 },
      )
      .toBe('store_locked')
    await lock.release()
  })
})
