import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createProcessIo, invoke } from '@priorbook/sdk/command-line'
import type { PriorbookError } from '@priorbook/sdk/domain'
import type { DataFolder } from '../lib/data-folder.ts'
import { SERVER_PROGRAM } from '../main.ts'
import {
  contentsIn,
  contentsOf,
  expectedRounds,
  startPast,
  type PastVenue,
} from '../derive/backfill.testing.ts'
import { withRebuilt } from '../derive/rebuild.ts'
import { createDataFolder } from '../recorder/scripted.testing.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { toOrigin } from './backfill-call.ts'
import { backfillCommand } from './backfill.ts'

const runBackfill = (args: readonly string[]): Promise<number> =>
  invoke(SERVER_PROGRAM, backfillCommand, args, createProcessIo())

const MAIN = new URL('../main.ts', import.meta.url).href
// Prints the code of a failure as the program does, without its stack.
const PROGRAM = `
const { main } = await import(${JSON.stringify(MAIN)})
try {
  process.exitCode = await main(['backfill', ...process.argv.slice(1)])
} catch (error) {
  console.error(error.code + ': ' + error.message)
  process.exitCode = 2
}`
// Below what the emulated venue allows a second, so that a busy machine does not decide.
const CALLS_PER_MINUTE = 3000
const VENUE_PER_SECOND = 60

type Run = {
  readonly child: ChildProcess
  readonly ended: Promise<{
    readonly code: number | null
    readonly out: string
    readonly err: string
  }>
}

/** Runs the command in a process of its own, as a user does. */
function run(venue: PastVenue, data: DataFolder, ...more: string[]): Run {
  const { restBase, apiKey, apiSecret } = venue.upstream
  const range = ['--from', String(venue.start), '--to', String(venue.end)]
  const args = ['venuea', '--coin', 'BTC', ...range, '--data', data.path, '--json', ...more]
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, '--', ...args], {
    env: {
      ...process.env,
      PRIORBOOK_VENUEA_REST: restBase,
      PRIORBOOK_VENUEA_API_KEY: apiKey,
      PRIORBOOK_VENUEA_API_SECRET: apiSecret,
      PRIORBOOK_VENUEA_CALLS_PER_MINUTE: String(CALLS_PER_MINUTE),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stdout.on('data', (text: Buffer) => (out += text.toString()))
  child.stderr.on('data', (text: Buffer) => (err += text.toString()))
  const ended = new Promise<Awaited<Run['ended']>>((resolve) => {
    child.once('close', (code) => resolve({ code, out, err }))
  })
  return { child, ended }
}

describe('a backfill that is killed', () => {
  it('resumes to the same store with few extra calls', async () => {
    const venue = await startPast('killed', 60)
    const whole = createDataFolder()
    const straight = await run(venue, whole).ended
    expect(straight).toMatchObject({ code: 0, err: '' })
    const expected = expectedRounds(venue, 'BTC').length
    expect(JSON.parse(straight.out)).toMatchObject({ expected, complete: expected, missing: 0 })
    const uninterrupted = venue.calls()
    expect(uninterrupted).toBeGreaterThanOrEqual(expected)

    const data = createDataFolder()
    const kills = [3, 25, 26, 60]
    for (const kill of kills) {
      const { child, ended } = run(venue, data)
      while (venue.calls() < uninterrupted + kill && child.exitCode === null) await delay(1)
      child.kill('SIGKILL')
      expect((await ended).code, 'it was killed in the middle').toBeNull()
    }
    const last = await run(venue, data).ended
    expect(last).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(last.out)).toMatchObject({ expected, complete: expected, missing: 0 })
    expect(await contentsIn(data)).toEqual(await contentsIn(whole))
    expect(await withRebuilt({ data }, contentsOf)).toEqual(await contentsIn(whole))
    // At worst the answer on its way and one that is not stored yet are lost with each, and a process killed
    // before its first round was stored begins with the list and two open rounds again.
    const calls = venue.calls() - uninterrupted
    expect(calls - uninterrupted).toBeLessThanOrEqual(2 * kills.length + 3)
    expect(venue.peak(1000)).toBeLessThanOrEqual(VENUE_PER_SECOND)

    const before = venue.calls()
    const again = await run(venue, data).ended
    expect(JSON.parse(again.out)).toMatchObject({ complete: expected, calls: 0 })
    expect(venue.calls()).toBe(before)
    expect(await contentsIn(data)).toEqual(await contentsIn(whole))
  })

  it('stops in order on SIGTERM and tells how to resume', async () => {
    const venue = await startPast('stopped')
    const data = createDataFolder()
    const { child, ended } = run(venue, data)
    while (venue.calls() < 10) await delay(1)
    child.kill('SIGTERM')
    const { code, out } = await ended
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({ isStopped: true })
    expect((await run(venue, data).ended).code).toBe(0)
  })
})

describe('a wrong call', () => {
  const folder = ['--data', '/nonexistent/never']
  const coin = ['venuea', '--coin', 'BTC']
  it.each<[string[], RegExp]>([
    [[], /backfill venuea/],
    [['venueb', '--coin', 'BTC'], /can be backfilled: backfill venuea/],
    [['venuea'], /--coin with one of BTC, ETH, BNB/],
    [['venuea', '--coin', 'DOGE'], /DOGE is unknown; Venue A has BTC, ETH, BNB/],
    [[...coin, '--from', '2026-05-04T23:59:59Z'], /floor of BTC, 2026-05-05T00:00Z/],
    [['venuea', '--coin', 'eth', '--from', '2026-06-28'], /floor of ETH, 2026-06-29T00:00Z/],
    [[...coin, '--from', '2026-08-02', '--to', '2026-08-01'], /not before --to/],
    [[...coin, '--from', '2026-08-02', '--to', '2026-08-02'], /not before --to/],
    [[...coin, '--to', '2100-01-01'], /--to 2100-01-01 lies in the future; leave it out/],
    [[...coin, '--from', '2100-01-01'], /--from 2100-01-01 lies in the future/],
    [[...coin, '--from', 'yesterday'], /--from yesterday is not a time; write it like/],
    [[...coin, '--to', '2026-02-30'], /--to 2026-02-30 is not a time/],
    [[...coin, '--to', '2026-08-01T00:00:00'], /not a time; write it like/],
    [[...coin, '--origin', 'import'], /neither live nor emulator/],
    [[...coin, '--nonsense'], /nonsense/],
  ])('%j is refused with a hint', async (args, hint) => {
    const failed = await runBackfill([...args, ...folder]).then(
      () => undefined,
      (error: unknown) => error as PriorbookError,
    )
    expect(failed?.code).toBe('invalid_argument')
    expect(failed?.message).toMatch(hint)
  })

  describe('of the folder or the configuration', () => {
    afterEach(() => vi.unstubAllEnvs())

    it('names the missing credentials', async () => {
      vi.stubEnv('PRIORBOOK_VENUEA_API_KEY', '')
      vi.stubEnv('PRIORBOOK_VENUEA_API_SECRET', '')
      await expect(runBackfill([...coin, ...folder])).rejects.toMatchObject({
        code: 'invalid_config',
        message: expect.stringContaining('PRIORBOOK_VENUEA_API_KEY') as string,
      })
    })

    it('names the other writer', async () => {
      vi.stubEnv('PRIORBOOK_VENUEA_API_KEY', 'key')
      vi.stubEnv('PRIORBOOK_VENUEA_API_SECRET', 'secret')
      const data = createDataFolder()
      mkdirSync(data.path, { recursive: true })
      const store = openEmbeddedStore({ file: data.tape })
      try {
        await expect(runBackfill([...coin, '--data', data.path])).rejects.toMatchObject({
          code: 'store_locked',
          message: expect.stringContaining('serve') as string,
        })
      } finally {
        await store.close()
      }
    })
  })

  it('takes an address on this machine for the emulator', () => {
    expect(toOrigin(undefined, 'http://127.0.0.1:9500/sapi')).toBe('emulator')
    expect(toOrigin(undefined, 'http://[::1]:9500/sapi')).toBe('emulator')
    expect(toOrigin(undefined, 'https://api.binance.com/sapi')).toBe('live')
    expect(toOrigin('live', 'http://localhost:9500/sapi')).toBe('live')
  })

  describe('of several interfaces', () => {
    afterEach(() => vi.unstubAllEnvs())

    // Whatever is listening there: no call may be made.
    const emulated = 'http://127.0.0.9:1'
    const rounds = ['venuec', '--asset', 'BTC', '--from', '2026-08-01', '--to', '2026-08-02']

    it.each(['GAMMA', 'CLOB', 'DATA'])('refuses the real %s beside an emulator', async (left) => {
      for (const name of ['GAMMA', 'CLOB', 'DATA']) {
        if (name !== left) vi.stubEnv(`PRIORBOOK_VENUEC_${name}`, emulated)
      }
      const data = createDataFolder()
      for (const origin of [[], ['--origin', 'live'], ['--origin', 'emulator']]) {
        const started = runBackfill([...rounds, ...origin, '--data', data.path])
        await expect(started).rejects.toMatchObject({
          code: 'invalid_config',
          message: expect.stringContaining(`venuec.${left.toLowerCase()} is https://`),
        })
      }
      expect(existsSync(data.path)).toBe(false)
    })
  })
})
