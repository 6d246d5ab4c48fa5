import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  hashReport,
  type Report,
  type SweepSummary,
  type WalkSummary,
} from '../../packages/sdk/src/backtest/index.ts'
import { printMicros, type Micros } from '../../packages/sdk/src/domain/index.ts'
import { openAccess } from '../../packages/service/src/api/auth/access.ts'
import { createApiServer } from '../../packages/service/src/api/server.ts'
import { runCommand } from '../sdk/run-command.ts'
import { FIRST, roundsOf, WINDOW, writeRounds } from './rolling-tape.ts'

const ROUNDS = roundsOf(8)
const folder = mkdtempSync(join(tmpdir(), 'priorbook-sweep-'))
let env: Record<string, string>
let stop: () => Promise<void>

beforeAll(async () => {
  const store = await writeRounds(folder, ROUNDS, ['venueb'])
  const access = openAccess(folder)
  const begun = performance.now()
  const end = ROUNDS.at(-1)!.closes + 3_600_000_000
  const now = (): Micros => Math.round(end + (performance.now() - begun) * 1000) as Micros
  const server = createApiServer({ store, access, now })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  const { key } = access.keys.create({ plan: 'unlimited', name: 't' })
  env = { PRIORBOOK_URL: url, PRIORBOOK_KEY: key }
  stop = async () => {
    await server.close(500)
    access.close()
    await store.close()
  }
  writeFileSync(
    join(folder, 'swept.ts'),
    `export const strategy = ({ book: wanted, size }) => ({
      name: 'swept',
      onBook(book, { buy }) {
        if (book.sequence === wanted) buy({ market: book.market.id, size })
      },
    })\n`,
  )
})

afterAll(async () => {
  await stop()
  rmSync(folder, { recursive: true, force: true })
})

const FROM = FIRST - 120_000_000
const TO = FIRST + 8 * WINDOW + 60_000_000

async function run(...words: readonly string[]) {
  const place = ['--series', 'KXBTC15M', '--cache', join(folder, 'cache')]
  const range = ['--from', printMicros(FROM as Micros), '--to', printMicros(TO as Micros)]
  const more = ['--assume', 'venueb-maker=none,venueb-tick=0.01', '--queue', 'pessimistic', '-q']
  const file = join(folder, 'swept.ts')
  return runCommand(['backtest', file, ...place, ...range, ...more, ...words], env)
}

async function hashesOf(out: string): Promise<string[]> {
  const hashes: string[] = []
  for (const line of out.trim().split('\n')) {
    hashes.push(await hashReport(JSON.parse(line) as Report))
  }
  return hashes
}

describe('sweeps', { timeout: 180_000 }, () => {
  it('give the same bytes with one worker and with three, and say how many tries there were', async () => {
    const params = ['--params', 'book=5|12|20|31,size=5|10']
    const one = await run(...params, '--json')
    const three = await run(...params, '--json', '--workers', '3')
    const hashes = await hashesOf(one.out)
    expect(new Set(hashes).size).toBe(8)
    expect(await hashesOf(three.out)).toEqual(hashes)
    const out = join(folder, 'out')
    const text = await run(...params, '--workers', '2', '--out', out)
    expect(text.out).toMatch(/^tries {18}8: the best of many/m)
    expect(text.out).toMatch(/^deflated {15}[\d.]+ % that it is above 0\.\d+, the best of 8 tries/m)
    const summary = JSON.parse(readFileSync(join(out, 'sweep.json'), 'utf8')) as SweepSummary
    const results = one.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as Report).headline.pnl)
    expect(summary.cells.map(({ pnl }) => pnl)).toEqual(results)
    expect(Number(summary.best.pnl)).toBe(Math.max(...results.map(Number)))
    expect(summary.neighbours.length).toBeGreaterThan(1)
    expect(readFileSync(join(out, 'sweep.html'), 'utf8').match(/<rect /g)).toHaveLength(8)
  })

  it('draw random parameters by the seed', async () => {
    const words = ['--params', 'book=2..40,size=10', '--random', '6', '--json']
    const drawn = await run(...words)
    const books = drawn.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as Report).run.params)
    expect(new Set(books.map(({ book }) => book)).size).toBe(6)
    expect((await run(...words, '--workers', '2')).out).toBe(drawn.out)
    const refused = await run('--params', 'book=2..40')
    expect(refused.err).toContain('--params has a range for book')
    expect(refused.status).toBe(2)
  })

  it('walk forward: choose on each span and test on the next, the same with two workers', async () => {
    const words = ['--params', 'book=5|12|20,size=10', '--walk-forward', '45m/15m']
    const outs = [join(folder, 'walk1'), join(folder, 'walk2')]
    const first = await run(...words, '--out', outs[0]!)
    const second = await run(...words, '--out', outs[1]!, '--workers', '2')
    expect([first.status, second.status]).toEqual([0, 0])
    expect(second.out).toBe(first.out)
    const [text, again] = outs.map((out) => readFileSync(join(out, 'walk.json'), 'utf8'))
    expect(again).toBe(text)
    // Windows do not compete: the report is that of the first one, in whichever worker it ran.
    const reports = outs.map((out) => readFileSync(join(out, 'report.json'), 'utf8'))
    expect(reports[1]).toBe(reports[0])
    const walk = JSON.parse(text!) as WalkSummary
    expect(walk.steps).toHaveLength(5)
    expect(walk.tries_per_window).toBe(3)
    const shown = JSON.parse(reports[0]!) as Report
    expect(shown.headline.pnl).toBe(walk.steps[0]!.test_pnl)
    expect(shown.run.from).toBe(printMicros(walk.steps[0]!.window.split as Micros))
    for (const [index, { window, params, train_pnl, test_pnl }] of walk.steps.entries()) {
      expect(window.from).toBe(FROM + index * WINDOW)
      expect([window.split - window.from, window.to - window.split]).toEqual([3 * WINDOW, WINDOW])
      // The choice and its test, each as a run of its own.
      const span = (from: number, to: number) => [
        '--from',
        printMicros(from as Micros),
        '--to',
        printMicros(to as Micros),
      ]
      if (index !== 1) continue
      const trained = await run(
        '--params',
        'book=5|12|20,size=10',
        '--json',
        ...span(window.from, window.split),
      )
      const results = trained.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Report)
      const best = results.toSorted((a, b) => Number(b.headline.pnl) - Number(a.headline.pnl))[0]!
      expect([best.run.params, best.headline.pnl]).toEqual([params, train_pnl])
      const chosen = `book=${String(params['book'])},size=10`
      const tested = await run('--params', chosen, '--json', ...span(window.split, window.to))
      expect((JSON.parse(tested.out) as Report).headline.pnl).toBe(test_pnl)
    }
    expect(first.out).toContain('each chosen from 3 tries on the span before it')
    const refused = await run('--walk-forward', '9d/1h')
    expect(refused.err).toContain('shorter than one training and one test')
  })
})
