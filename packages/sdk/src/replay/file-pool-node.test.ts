import type { FileHandle } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { FilePool } from './file-pool-node.ts'

describe('a pool of files', () => {
  it('reads a thousand files with few of them open, and leaves none open', async () => {
    let open = 0
    let most = 0
    let opened = 0
    const pool = new FilePool(async (path) => {
      open++
      opened++
      most = Math.max(most, open)
      return { path, close: async () => void open-- } as unknown as FileHandle
    })
    const paths = Array.from({ length: 1000 }, (_, index) => `file ${index}`)
    const nameOf = async (file: FileHandle): Promise<string> =>
      (file as unknown as { path: string }).path
    for (let round = 0; round < 2; round++) {
      for (const path of paths) {
        expect(await pool.use(path, nameOf)).toBe(path)
        expect(await pool.use(path, nameOf)).toBe(path)
      }
    }
    expect(most).toBe(65)
    expect(opened).toBe(2000)
    for (const path of paths) await pool.close(path)
    expect(open).toBe(0)
  })

  it('closes a file after the reads that have begun, and tries a file again that could not be opened', async () => {
    let open = 0
    let fails = true
    const pool = new FilePool(async () => {
      if (fails) throw new Error('not there')
      open++
      return { close: async () => void open-- } as unknown as FileHandle
    })
    await expect(pool.use('a', async () => 1)).rejects.toThrow('not there')
    fails = false
    let release = (): void => undefined
    const reading = pool.use('a', () => new Promise<void>((resolve) => (release = resolve)))
    await pool.close('a')
    expect(open).toBe(1)
    release()
    await reading
    expect(open).toBe(0)
  })
})
