import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { openEmbeddedStore, type MadePack } from '../store/embedded/open.ts'
import { callServer } from './call.testing.ts'
import { runPacker } from './packer.ts'

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), 'priorbook-packer-'))

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

describe('the process that packs old data', () => {
  it('makes packs of a tape that this process writes, and says what it did', async () => {
    const data = join(scratch, 'data')
    expect((await callServer('import', 'venueb', SAMPLE, '--data', data)).code).toBe(0)
    const file = join(data, 'tape.db')
    const store = openEmbeddedStore({ file })
    const { observations } = await store.verify()
    const stop = new AbortController()
    const told = Promise.withResolvers<Record<string, unknown>>()
    const log = {
      info: (fields: object, message: string) => told.resolve({ ...fields, message }),
      warn: (fields: object, message: string) => told.reject(new Error(message, { cause: fields })),
    }
    let stored = 0
    const replace = async (made: MadePack): Promise<boolean> => {
      const isReplaced = await store.replaceByPack(made)
      if (isReplaced) stored += made.places.length
      return isReplaced
    }
    const order = { tape: { file, ageMicros: 0, waitMs: 0 } }
    const packing = runPacker(order, replace, stop.signal, log)
    const report = await told.promise
    stop.abort()
    await packing
    expect(stored).toBeGreaterThan(3)
    expect(report).toMatchObject({ chunks: stored, message: 'old chunks of the tape were packed' })
    expect(await store.verify()).toMatchObject({ observations, problems: [] })
    const { groups } = await store.planPacks(Number.MAX_SAFE_INTEGER, 0)
    expect(groups).toEqual([])
    await store.close()
  })
})
