import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callServer } from './call.testing.ts'

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), 'priorbook-retention-'))
const data = join(scratch, 'data')

type Tier = { tier: string; removed_rows: number; removed_bytes: number; kept_bytes: number }

async function call<T>(...args: string[]): Promise<T> {
  const { code, out, err } = await callServer(...args, '--data', data, '--json')
  if (code !== 0) throw Object.assign(new Error(`${err}${out}`), { code })
  return JSON.parse(out) as T
}

function limits(retention: object): string {
  const file = join(scratch, 'limits.json')
  writeFileSync(file, JSON.stringify({ retention }))
  return file
}

beforeAll(() => call('import', 'venueb', SAMPLE))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

describe('retention', () => {
  it('removes nothing without a limit, and nothing in a dry run', async () => {
    expect(await call('retention', '--config', limits({}))).toMatchObject({ tiers: [] })
    const before = await call<{ observations: number }>('verify')
    const file = limits({ tapeBytes: '20kB' })
    const { tiers } = await call<{ tiers: Tier[] }>('retention', '--dry-run', '--config', file)
    const venue = tiers.find(({ removed_rows: rows }) => rows > 0)
    expect(venue).toMatchObject({ tier: 'tape' })
    expect(await call('verify')).toMatchObject({ observations: before.observations })
  })

  it('removes the oldest rows down to a size; the rest verifies against the journal', async () => {
    const before = await call<{ observations: number }>('verify')
    const file = limits({ tapeBytes: '20kB' })
    await call('seal')
    const dryRun = ['retention', '--dry-run', '--config', file]
    const { tiers: would } = await call<{ tiers: Tier[] }>(...dryRun)
    const { tiers } = await call<{ tiers: Tier[] }>('retention', '--config', file)
    const sum = (list: Tier[]): number => list.reduce((rows, tier) => rows + tier.removed_rows, 0)
    expect(sum(tiers)).toBeGreaterThan(1000)
    expect(sum(would)).toBeGreaterThan(1000)
    const after = await call<{ observations: number; problems: [] }>('verify', '--journal')
    expect(after.problems).toEqual([])
    expect(after.observations).toBeLessThan(before.observations - 1000)
    const again = await call<{ tiers: Tier[] }>('retention', '--config', file)
    expect(sum(again.tiers)).toBe(0)
    const doctor = await callServer('doctor', '--data', data, '--config', file)
    expect(doctor.out).toMatch(/^ok {4}\w+: tape within 20\.0 kB: /m)
    expect(await call('rebuild')).toMatchObject({ differences: [] })
  })

  it('refuses a limit that it does not understand', async () => {
    const file = limits({ tapeAge: 'soon' })
    const { code, err } = await callServer('retention', '--data', data, '--config', file)
    expect(code).toBe(1)
    expect(err).toContain('retention.tapeAge')
  })
})
