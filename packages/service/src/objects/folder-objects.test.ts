import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createFolder, onSmallDisk } from './folder.testing.ts'
import { openFolderObjects } from './folder-objects.ts'
import { codeOf, listAll, someBytes, testObjects } from './objects.contract.ts'

describe('objects in a folder', () => {
  testObjects(() => openFolderObjects(join(createFolder(), 'deep', 'objects')))

  test('leaves nothing but the object behind', async () => {
    const folder = createFolder()
    const store = openFolderObjects(folder)
    expect(store.address).toBe(folder)
    await Promise.all([1, 2, 3].map((seed) => store.put('a/b', someBytes(100, seed))))
    expect(readdirSync(join(folder, 'a'))).toEqual(['b'])
  })

  test('does not list leftovers of a crash and removes them with the next object', async () => {
    const folder = createFolder()
    mkdirSync(join(folder, 'a'))
    const [old, fresh] = ['old', 'fresh'].map((name) => join(folder, 'a', `.putting-${name}`))
    for (const path of [old!, fresh!]) writeFileSync(path, 'half')
    utimesSync(old!, 1_700_000_000, 1_700_000_000)
    const store = openFolderObjects(folder)
    expect(await listAll(store)).toEqual([])
    await store.put('a/b', someBytes(1))
    // The younger one may be in the hands of another process.
    expect([existsSync(old!), existsSync(fresh!)]).toEqual([false, true])
    expect(await listAll(store)).toEqual([{ name: 'a/b', size: 1 }])
  })

  test('takes a folder for no object, and an object for no folder', async () => {
    const store = openFolderObjects(createFolder())
    await store.put('a/b', someBytes(1))
    expect(await store.size('a')).toBeUndefined()
    expect(await codeOf(store.read('a', 0, 1))).toBe('object_missing')
    await store.remove('a')
    expect(await codeOf(store.put('a', someBytes(1)))).toBe('objects_refused')
    expect(await store.size('a/b/c')).toBeUndefined()
    expect(await codeOf(store.read('a/b/c', 0, 1))).toBe('object_missing')
    await store.remove('a/b/c')
    expect(await codeOf(store.put('a/b/c', someBytes(1)))).toBe('objects_refused')
    expect(await codeOf(store.put('a/b/c/d', someBytes(1)))).toBe('objects_refused')
    expect(await listAll(store)).toEqual([{ name: 'a/b', size: 1 }])
  })

  test('tells that its folder is gone and does not create it again', async () => {
    const folder = createFolder()
    const store = openFolderObjects(folder)
    await store.put('a', someBytes(1))
    rmSync(folder, { recursive: true })
    expect(await codeOf(store.put('b', someBytes(1)))).toBe('objects_refused')
    expect(await codeOf(store.read('a', 0, 1))).toBe('objects_refused')
    expect(await codeOf(store.size('a'))).toBe('objects_refused')
    expect(await codeOf(store.remove('a'))).toBe('objects_refused')
    expect(await codeOf(listAll(store))).toBe('objects_refused')
    expect(existsSync(folder)).toBe(false)
  })

  test('refuses a used folder that is missing or empty: its disk may not be mounted', async () => {
    const folder = createFolder()
    const used = openFolderObjects(folder, false)
    expect(await codeOf(used.read('a', 0, 1))).toBe('objects_refused')
    expect(await codeOf(used.put('a', someBytes(1)))).toBe('objects_refused')
    await openFolderObjects(folder).put('a', someBytes(1))
    expect(await codeOf(used.read('b', 0, 1))).toBe('object_missing')
    expect(await used.put('b', someBytes(1))).toBe(true)
    const missing = openFolderObjects(join(folder, 'missing'), false)
    expect(await codeOf(missing.read('a', 0, 1))).toBe('objects_refused')
    expect(existsSync(join(folder, 'missing'))).toBe(false)
  })

  test('refuses a place that can be no folder', async () => {
    const file = join(createFolder(), 'file')
    writeFileSync(file, '')
    const open = async (): Promise<unknown> => openFolderObjects(join(file, 'objects'))
    expect(await codeOf(open())).toBe('objects_refused')
  })

  test('says that a disk is full, keeps nothing half, and goes on when there is room', (context) => {
    const folder = createFolder()
    const inside = onSmallDisk(folder, '256k')
    if (spawnSync('unshare', [...inside, 'true']).status !== 0) {
      context.skip('no private tmpfs can be mounted here')
    }
    const script = `
      const { openFolderObjects } = await import(${JSON.stringify(import.meta.resolve('./folder-objects.ts'))})
      const store = openFolderObjects(${JSON.stringify(folder)})
      const seen = [await store.put('a', new Uint8Array(100_000))]
      for (const name of ['b', 'c/d']) {
        await store.put(name, new Uint8Array(200_000)).catch((error) => seen.push(error.code))
      }
      await store.remove('a')
      seen.push(await store.put('b', new Uint8Array(200_000)))
      for await (const { name, size } of store.list('')) seen.push(name, size)
      console.log(JSON.stringify(seen))`
    const args = [...inside, process.execPath, '--input-type=module', '-e', script]
    const { stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' })
    expect(stderr).toBe('')
    const refused = 'objects_refused'
    expect(JSON.parse(stdout)).toEqual([true, refused, refused, true, 'b', 200_000])
  })
})
