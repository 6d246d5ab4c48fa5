import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { callServer } from './call.testing.ts'
import { checkTierTarget } from './tier-target.ts'

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), 'priorbook-tier-'))

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

async function call<T>(data: string, ...args: string[]): Promise<T> {
  const { code, out, err } = await callServer(...args, '--data', data, '--json')
  expect([args[0], code, err]).toEqual([args[0], 0, ''])
  return JSON.parse(out) as T
}

function refusalOf(target: string, data: string, bytes = 0): string {
  try {
    checkTierTarget(target, data, bytes)
    return 'none'
  } catch (error) {
    return `${(error as { code: string }).code}: ${(error as Error).message}`
  }
}

describe('priorbook-server tier', () => {
  it('moves packed chunks to a folder, where they are read and verified', async () => {
    const data = join(scratch, 'data')
    const target = join(scratch, 'archive')
    await call(data, 'import', 'venueb', SAMPLE)
    const { observations } = await call<{ observations: number }>(data, 'verify')
    const { chunks } = await call<{ chunks: number }>(data, 'tape', 'pack', '--older', '0s')
    const tier = ['tier', '--older-than', '1d', '--to', target]
    const { moved } = await call<{ moved: { chunks: number } }>(data, ...tier)
    expect(moved.chunks).toBeGreaterThanOrEqual(chunks)
    expect(readdirSync(join(target, 'tape/v1/venueb')).length).toBeGreaterThan(0)
    expect(await call(data, 'verify')).toMatchObject({ observations, problems: [] })
    expect(await call(data, 'rebuild')).toMatchObject({ differences: [] })
    expect(await call(data, ...tier)).toMatchObject({ moved: { chunks: 0 } })
    // A disk that is not mounted is named, and nothing is taken for lost.
    renameSync(target, `${target}.away`)
    const doctor = await callServer('doctor', '--data', data)
    expect([doctor.code, doctor.out]).toEqual([1, expect.stringContaining(`bad   ${target}`)])
    const again = await callServer(...tier, '--data', data)
    expect([again.code, again.err]).toEqual([1, expect.stringContaining(target)])
    renameSync(`${target}.away`, target)
    const well = await callServer('doctor', '--data', data)
    expect([well.code, well.out]).toEqual([0, expect.stringContaining(`ok    ${target}`)])
    expect(await call(data, 'verify')).toMatchObject({ observations, problems: [] })
  })

  it('refuses the data folder, folders in it or above it, and links to them', () => {
    const data = join(scratch, 'own')
    mkdirSync(join(data, 'journal'), { recursive: true })
    symlinkSync(data, join(scratch, 'link'))
    for (const target of [data, join(data, 'journal'), join(data, 'new'), scratch]) {
      expect(refusalOf(target, data)).toMatch(/^objects_refused: .* is the data folder/)
    }
    expect(refusalOf(join(scratch, 'link', 'x'), data)).toMatch(/^objects_refused: .* is the data/)
    expect(refusalOf(join(scratch, 'own-2'), data)).toBe('none')
  })

  it('refuses a folder without the space, and a file in the place of a folder', () => {
    const data = join(scratch, 'small')
    mkdirSync(data, { recursive: true })
    expect(refusalOf(join(scratch, 'full'), data, 2 ** 60)).toMatch(
      /^objects_refused: .* free, and/,
    )
    expect(refusalOf(fileURLToPath(import.meta.url), data)).toMatch(/^objects_refused: .*written/)
  })

  // The superuser may write everywhere.
  it.skipIf(process.getuid?.() === 0)('refuses a folder that it may not write', () => {
    const data = join(scratch, 'small')
    const locked = join(scratch, 'locked')
    mkdirSync(locked)
    chmodSync(locked, 0o500)
    expect(refusalOf(locked, data)).toMatch(/^objects_refused: .* cannot be written/)
  })

  it('needs both options, and a folder', async () => {
    const data = join(scratch, 'data')
    for (const args of [['--to', 'x'], ['--older-than', '1d'], []]) {
      expect((await callServer('tier', ...args, '--data', data)).code).toBe(2)
    }
    const bucket = ['tier', '--older-than', '1d', '--to', 's3://b/p', '--data', data]
    expect((await callServer(...bucket)).err).toContain('use the command cold')
  })
})
