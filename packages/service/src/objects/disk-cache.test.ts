import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openDiskCache } from './disk-cache.ts'
import { createFolder, onSmallDisk } from './folder.testing.ts'
import { someBytes } from './objects.contract.ts'

const MODULE = JSON.stringify(import.meta.resolve('./disk-cache.ts'))

/** What the files of a folder take on disk. */
function sizeOf(folder: string): number {
  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size)
  return sizes.reduce((sum, size) => sum + Math.ceil(size / 4096) * 4096, 0)
}

/** The only file of a folder. */
function fileIn(folder: string): string {
  const names = readdirSync(folder)
  expect(names).toHaveLength(1)
  return join(folder, names[0]!)
}

describe('a cache on disk', () => {
  test('gives back what was put, by name and block', () => {
    const folder = join(createFolder(), 'deep', 'cache')
    const cache = openDiskCache({ folder, maxBytes: 10_000_000 })
    expect(cache.get('a', 0)).toBeUndefined()
    cache.put('a', 0, someBytes(1000))
    cache.put('a', 1, new Uint8Array())
    cache.put('../odd\0/name', 7, someBytes(5, 2))
    for (const reader of [cache, openDiskCache({ folder, maxBytes: 10_000_000 })]) {
      expect(someBytes(1000)).toEqual(new Uint8Array(reader.get('a', 0)!))
      expect(reader.get('a', 1)).toHaveLength(0)
      expect([...reader.get('../odd\0/name', 7)!]).toEqual([...someBytes(5, 2)])
      expect(reader.get('a', 2)).toBeUndefined()
      expect(reader.get('b', 0)).toBeUndefined()
    }
    // Typed arrays of eight bytes can be laid over it.
    expect(cache.get('a', 0)!.byteOffset % 8).toBe(0)
    cache.put('a', 0, someBytes(10, 3))
    expect([...cache.get('a', 0)!]).toEqual([...someBytes(10, 3)])
  })

  test('takes a damaged, cut or grown file for none and removes it', () => {
    const folder = createFolder()
    const cache = openDiskCache({ folder, maxBytes: 10_000_000 })
    cache.put('a', 0, someBytes(40))
    const path = fileIn(folder)
    const whole = readFileSync(path)
    const expectNone = (bytes: Uint8Array): void => {
      writeFileSync(path, bytes)
      expect(cache.get('a', 0)).toBeUndefined()
      expect(existsSync(path)).toBe(false)
    }
    for (let length = 0; length < whole.length; length++) expectNone(whole.subarray(0, length))
    expectNone(Buffer.concat([whole, Buffer.alloc(1)]))
    // The last four bytes of the header are not used.
    const aPlace = fc.integer({ min: 0, max: whole.length - 1 }).filter((at) => at < 12 || at >= 16)
    fc.assert(
      fc.property(aPlace, fc.integer({ min: 1, max: 255 }), (at, change) => {
        const bytes = Buffer.from(whole)
        bytes[at]! ^= change
        expectNone(bytes)
      }),
      { numRuns: 200, seed: 1 },
    )
    writeFileSync(path, whole)
    expect(cache.get('a', 0)).toHaveLength(40)
    // A whole file under the name of another block.
    renameSync(path, path.replace('-0.', '-1.'))
    expect(cache.get('a', 1)).toBeUndefined()
    expect(readdirSync(folder)).toEqual([])
  })

  test('stays within its limit where two share a folder', () => {
    const folder = createFolder()
    const maxBytes = 2_000_000
    const caches = [openDiskCache({ folder, maxBytes }), openDiskCache({ folder, maxBytes })]
    let most = 0
    for (let block = 0; block < 600; block++) {
      caches[block % 2]!.put('a', block, someBytes(1 + ((block * 977) % 40_000)))
      most = Math.max(most, sizeOf(folder))
    }
    expect(most).toBeLessThanOrEqual(maxBytes)
    expect(most).toBeGreaterThan(maxBytes * 0.8)
    expect(caches[0]!.get('a', 599)).toBeDefined()
    expect(caches[0]!.get('a', 0)).toBeUndefined()
    // A smaller limit holds from the start on.
    openDiskCache({ folder, maxBytes: 500_000 })
    expect(sizeOf(folder)).toBeLessThanOrEqual(500_000)
  })

  test('keeps nothing that is larger than it', () => {
    const folder = createFolder()
    for (const maxBytes of [0, -1, NaN, 4096]) {
      const cache = openDiskCache({ folder, maxBytes })
      cache.put('a', 0, someBytes(4096))
      expect(cache.get('a', 0)).toBeUndefined()
      expect(readdirSync(folder)).toEqual([])
    }
    // One block of the size of most of it goes in, alone.
    const cache = openDiskCache({ folder, maxBytes: 100_000 })
    for (let block = 0; block < 3; block++) cache.put('a', block, someBytes(80_000))
    expect(readdirSync(folder)).toHaveLength(1)
    expect(cache.get('a', 2)).toHaveLength(80_000)
  })

  test('forgets what was not read for the longest time', () => {
    const folder = createFolder()
    const maxBytes = 1_000_000
    const cache = openDiskCache({ folder, maxBytes })
    for (let block = 0; block < 10; block++) {
      cache.put('a', block, someBytes(80_000))
      const path = join(
        folder,
        readdirSync(folder).find((name) => name.endsWith(`-${block}.block`))!,
      )
      utimesSync(path, 1_700_000_000 + block, 1_700_000_000 + block)
    }
    for (const block of [0, 3]) expect(cache.get('a', block)).toBeDefined()
    for (let block = 10; block < 14; block++) cache.put('a', block, someBytes(80_000))
    const left = Array.from({ length: 14 }, (_, block) => block).filter((block) =>
      readdirSync(folder).some((name) => name.endsWith(`-${block}.block`)),
    )
    expect(left).toEqual(expect.arrayContaining([0, 3, 10, 11, 12, 13]))
    expect(left).not.toContain(1)
    expect(left).not.toContain(2)
  })

  test('notes a read once a minute at most', () => {
    const folder = createFolder()
    const cache = openDiskCache({ folder, maxBytes: 1_000_000 })
    cache.put('a', 0, someBytes(10))
    const path = fileIn(folder)
    const now = Date.now() / 1000
    utimesSync(path, now - 30, now - 30)
    cache.get('a', 0)
    expect(statSync(path).mtimeMs / 1000).toBeLessThan(now - 29)
    utimesSync(path, now - 90, now - 90)
    cache.get('a', 0)
    expect(statSync(path).mtimeMs / 1000).toBeGreaterThan(now - 2)
  })

  test('removes leftovers of a crash, and nothing that is not its own', () => {
    const folder = createFolder()
    const leftover = join(folder, '00000000-0000-4000-8000-000000000000.block-temporary')
    const others = ['notes.txt', 'abc-1.block', `${'0'.repeat(32)}-x.block`].map((name) =>
      join(folder, name),
    )
    for (const path of [leftover, ...others]) {
      writeFileSync(path, Buffer.alloc(100_000))
      utimesSync(path, 1_700_000_000, 1_700_000_000)
    }
    mkdirSync(join(folder, `${'0'.repeat(32)}-1.block`))
    const cache = openDiskCache({ folder, maxBytes: 50_000 })
    for (let block = 0; block < 10; block++) cache.put('a', block, someBytes(20_000))
    expect(existsSync(leftover)).toBe(false)
    expect(others.every((path) => existsSync(path))).toBe(true)
    expect(existsSync(join(folder, `${'0'.repeat(32)}-1.block`))).toBe(true)
  })

  test('misses what another process removed, and goes on without its folder', () => {
    const folder = join(createFolder(), 'cache')
    const cache = openDiskCache({ folder, maxBytes: 1_000_000 })
    cache.put('a', 0, someBytes(10))
    rmSync(folder, { recursive: true })
    expect(cache.get('a', 0)).toBeUndefined()
    cache.put('a', 1, someBytes(10))
    cache.put('a', 2, someBytes(10))
    expect(cache.get('a', 2)).toHaveLength(10)
    // A file in its place.
    rmSync(folder, { recursive: true })
    writeFileSync(folder, 'x')
    cache.put('a', 3, someBytes(10))
    expect(cache.get('a', 3)).toBeUndefined()
    const late = openDiskCache({ folder, maxBytes: 1_000_000 })
    late.put('a', 4, someBytes(10))
    expect(late.get('a', 4)).toBeUndefined()
    expect(readFileSync(folder, 'utf8')).toBe('x')
  })

  test('only forgets where the disk is full', (context) => {
    const folder = createFolder()
    const inside = onSmallDisk(folder, '256k')
    if (spawnSync('unshare', [...inside, 'true']).status !== 0) {
      context.skip('no private tmpfs can be mounted here')
    }
    const script = `
      const { readdirSync, rmSync } = await import('node:fs')
      const { openDiskCache } = await import(${MODULE})
      const folder = ${JSON.stringify(folder)}
      const cache = openDiskCache({ folder, maxBytes: 10_000_000 })
      for (let block = 0; block < 10; block++) cache.put('a', block, new Uint8Array(50_000).fill(block))
      const seen = [...Array(10).keys()].filter((block) => {
        const bytes = cache.get('a', block)
        return bytes !== undefined && bytes.length === 50_000 && bytes.every((byte) => byte === block)
      })
      const files = readdirSync(folder)
      rmSync(folder + '/' + files[0])
      cache.put('b', 0, new Uint8Array(50_000))
      console.log(JSON.stringify([seen.length, files.length, cache.get('b', 0)?.length]))`
    const args = [...inside, process.execPath, '--input-type=module', '-e', script]
    const { stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual([4, 4, 50_000])
  })

  test('serves several processes that write, read and forget at once', async () => {
    const folder = createFolder()
    const maxBytes = 1_000_000
    const script = `
      const { openDiskCache } = await import(${MODULE})
      const cache = openDiskCache({ folder: ${JSON.stringify(folder)}, maxBytes: ${maxBytes} })
      let [wrong, hits] = [0, 0]
      for (let step = 0; step < 1500; step++) {
        const block = Math.floor(Math.random() * 100)
        const bytes = cache.get('a', block)
        if (bytes === undefined) cache.put('a', block, new Uint8Array(5_000 + block * 50).fill(block))
        else if (bytes.length === 5_000 + block * 50 && bytes.every((byte) => byte === block)) hits++
        else wrong++
      }
      console.log(JSON.stringify({ wrong, isUsed: hits > 100 }))`
    const runs = Array.from({ length: 3 }, async () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script])
      let said = ''
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (piece: Buffer) => (said += piece.toString('utf8')))
      }
      await once(child, 'close')
      return JSON.parse(said) as unknown
    })
    const right = { wrong: 0, isUsed: true }
    expect(await Promise.all(runs)).toEqual([right, right, right])
    expect(sizeOf(folder)).toBeLessThanOrEqual(maxBytes)
  })
})
