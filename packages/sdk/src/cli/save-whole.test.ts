import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { lockPart } from './part-lock.ts'
import { saveWhole } from './save-whole.ts'

const { signal } = new AbortController()

function createPlace(): { readonly folder: string; readonly path: string } {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-whole-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return { folder, path: join(folder, 'panel.parquet') }
}

/** Pieces of a body; `look` is called between them. */
async function* body(look: () => void, end?: Error): AsyncGenerator<Uint8Array> {
  yield Buffer.from('new ')
  look()
  if (end !== undefined) throw end
  yield Buffer.from('file')
}

describe('a file that is saved whole', () => {
  it('replaces the one before it only at its end', async () => {
    const { folder, path } = createPlace()
    writeFileSync(path, 'old file')
    const seen: string[] = []
    const bytes = await saveWhole(
      path,
      body(() => seen.push(readFileSync(path, 'utf8'))),
      signal,
    )
    expect([seen, bytes, readFileSync(path, 'utf8')]).toEqual([['old file'], 8, 'new file'])
    expect(readdirSync(folder)).toEqual(['panel.parquet'])
  })

  it('is not there before its end', async () => {
    const { folder, path } = createPlace()
    const seen: string[] = []
    await saveWhole(
      path,
      body(() => seen.push(...readdirSync(folder))),
      signal,
    )
    expect(seen).not.toContain('panel.parquet')
    expect(readdirSync(folder)).toEqual(['panel.parquet'])
  })

  it('leaves the one before it where the connection breaks, and no part', async () => {
    const { folder, path } = createPlace()
    writeFileSync(path, 'old file')
    const broken = body(() => undefined, new Error('the download broke'))
    await expect(saveWhole(path, broken, signal)).rejects.toThrow('the download broke')
    expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual([
      'old file',
      ['panel.parquet'],
    ])
  })

  it('is not written by two processes at a time', async () => {
    const { path } = createPlace()
    const held = await lockPart(`${path}.part`, signal)
    const second = saveWhole(
      path,
      body(() => undefined),
      signal,
    )
    await expect(second).rejects.toMatchObject({
      exit: 'failed',
      message: expect.stringContaining('is writing'),
    })
    await held.release()
  })

  it.skipIf(process.platform === 'win32')('goes straight into what is no file', async () => {
    const bytes = await saveWhole(
      '/dev/null',
      body(() => undefined),
      signal,
    )
    expect([bytes, readdirSync('/dev')]).toEqual([8, expect.not.arrayContaining(['null.part'])])
  })
})
