import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { callServer } from './call.testing.ts'
import { startServe } from './serve.testing.ts'

const scratch = mkdtempSync(join(tmpdir(), 'priorbook-select-'))

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const RULES = [
  { series: 'KXBTC15M', tier: 'full' },
  { series: 'KXETH15M', tier: 'polled' },
  { title: 'bitcoin*', tier: 'catalogue' },
]

function configured(name: string, rules: unknown): string {
  const file = join(scratch, name)
  writeFileSync(file, JSON.stringify({ venueb: { select: rules }, venuea: { enabled: false } }))
  return file
}

type Selected = {
  venues: {
    venue: string
    tiers: { tier: string; markets: number; books: number }[]
    rules: { rule: string; markets: number }[]
    markets?: { market: string; tier: string; why: string }[]
  }[]
}

describe('priorbook-server select', () => {
  it('says what each rule selects, and why each market is recorded', async () => {
    const file = configured('explained.json', RULES)
    const { code, out } = await callServer(
      'select',
      'venueb',
      '--explain',
      '--config',
      file,
      '--json',
    )
    expect(code).toBe(0)
    const [survey] = (JSON.parse(out) as Selected).venues
    const markets = survey!.markets!
    expect(markets.length).toBeGreaterThan(10)
    for (const { market, tier, why } of markets) {
      const [series] = market.split('-')
      const expected = { KXBTC15M: 'full', KXETH15M: 'polled', KXBTCD: 'catalogue' }[series!]
      expect([market, tier]).toEqual([market, expected ?? 'none'])
      expect(series === 'KXBTCD').toBe(why === 'rule 3 (title bitcoin*)')
    }
    const counted = survey!.rules.map(({ markets: found }) => found)
    expect(counted.reduce((sum, one) => sum + one)).toBe(markets.length)
    const { out: lines } = await callServer('select', 'venueb', '--config', file)
    expect(lines).toContain('rule 1 (series KXBTC15M), full: ')
  })

  it('refuses an unknown venue, and rules that are wrong', async () => {
    expect(await callServer('select', 'venuex')).toMatchObject({ code: 2 })
    const file = configured('wrong.json', [{ series: 'KXBTC15M', tier: 'deep' }])
    const { code, err } = await callServer('select', '--config', file)
    expect(code).toBe(1)
    expect(err).toContain('venueb.select rule 1, tier must be one of full, polled')
  })
})

describe('serve with rules', () => {
  it.each(['one', 'venue'])(
    'changes them on SIGHUP, and says what that means for each market (processes: %s)',
    async (processes) => {
      const data = join(scratch, `data-${processes}`)
      const file = configured('served.json', [{ series: 'KXBTC15M', tier: 'full' }])
      const made = await callServer(
        'keys',
        'create',
        '--plan',
        'unlimited',
        '--data',
        data,
        '--json',
      )
      const { key } = JSON.parse(made.out) as { key: string }
      const more = ['--speed', '10', '--processes', processes]
      const args = ['--data', data, '--workers', '1', '--config', file, ...more]
      const served = await startServe(scratch, args)
      onTestFinished(() => void served.child.kill('SIGKILL'))
      const ask = async <T>(path: string): Promise<T> => {
        const answer = await fetch(served.url + path, {
          headers: { authorization: `Bearer ${key}` },
        })
        return ((await answer.json()) as { data: T }).data
      }
      type Listed = {
        market_id: string
        close_time: string
        capture: { tier: string; why: string } | null
      }[]
      const list = (series: string): Promise<Listed> =>
        ask(`/v3/venueb/markets?series=${series}&status=open`)
      const until = async (isSo: () => Promise<boolean>): Promise<void> => {
        while (!(await isSo())) await pause(200)
      }
      // Rounds last 90 s here: it is to be open when the rules change.
      let bitcoin: Listed[0] | undefined
      await until(async () => {
        const listed = await list('KXBTC15M')
        bitcoin = listed.find(({ close_time: at }) => Date.parse(at) - Date.now() > 20_000)
        return bitcoin !== undefined
      })
      expect(await list('KXETH15M')).toEqual([])
      expect(bitcoin!.capture).toEqual({ tier: 'full', why: 'rule 1 (series KXBTC15M)' })

      configured('served.json', [
        { series: 'KXETH15M', tier: 'full' },
        { series: 'KXBTC15M', tier: 'catalogue' },
      ])
      served.child.kill('SIGHUP')
      await until(async () => (await list('KXETH15M')).length > 0)
      await until(async () => {
        const gaps = await ask<{ reason: string }[]>('/v3/gaps?venue=venueb&reason=not_selected')
        return gaps.length > 0
      })
      const { capture } = await ask<Listed[0]>(`/v3/venueb/${bitcoin!.market_id}`)
      expect(capture).toEqual({ tier: 'catalogue', why: 'rule 2 (series KXBTC15M)' })

      writeFileSync(file, '{')
      served.child.kill('SIGHUP')
      await until(async () => served.printed().includes('nothing changes'))
      expect(await served.end()).toBe(0)
      const { out } = await callServer('verify', '--data', data, '--journal', '--json')
      expect(JSON.parse(out)).toMatchObject({ problems: [] })
    },
  )
})
