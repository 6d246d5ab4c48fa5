import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEmulator, type Emulator } from '../../packages/emulator/src/emulator.ts'
import { startServe, type ServeProcess } from '../../packages/service/src/commands/serve.testing.ts'
import { namesIn } from '../../packages/service/src/ops/promql-names.testing.ts'
import { parseScrape } from '../../packages/service/src/ops/scrape.ts'
import { toLiveEnvironment } from '../capture/recorder-process.ts'
import { dashboardQueries, findUnknown, toRecordingRules } from './dashboard.ts'
import {
  installPrometheus,
  promtool,
  runProgram,
  startPrometheus,
  until,
  type RunningPrometheus,
} from './prometheus.ts'

const ROOT = join(import.meta.dirname, '../..')
const RULES = join(ROOT, 'deploy/prometheus')
const BIN = join(ROOT, 'packages/service/bin/priorbook-server.mjs')
const SCRAPE_SECONDS = 2
// A minute of them.
const SCRAPES = 30

const home = mkdtempSync(join(tmpdir(), 'priorbook-ops-'))
const data = join(home, 'data')
let emulator: Emulator
let served: ServeProcess

beforeAll(async () => {
  installPrometheus()
  emulator = await startEmulator({ seed: 23, speed: 2, venues: ['venueb', 'venuec'] })
  const env = toLiveEnvironment(emulator.addresses, home)
  served = await startServe(home, ['--upstream', 'live', '--data', data, '--workers', '2'], env)
  await until(async () => (await fetch(`${served.url}/v3/health`)).ok)
})

afterAll(async () => {
  await served?.end()
  await emulator?.close()
  rmSync(home, { recursive: true, force: true })
})

async function exposition(): Promise<string> {
  return (await fetch(`${served.ops}/metrics`)).text()
}

// The rules as they are, but alerts fire as soon as their condition held twice.
function shortened(): string {
  const rules = readFileSync(join(RULES, 'priorbook.rules.yml'), 'utf8')
  return rules
    .replaceAll(/^( +for): (?!0s)\S+$/gm, `$1: ${SCRAPE_SECONDS}s`)
    .replace(/^( +interval): \S+$/m, `$1: ${SCRAPE_SECONDS}s`)
}

describe('promtool', () => {
  it('accepts the metrics without a word', async () => {
    // Every class of status has answers, and so do both kinds of distributions.
    await fetch(`${served.url}/v3/health`)
    await fetch(`${served.url}/v3/nothing`)
    await until(async () => (await exposition()).includes('class="4xx"'))
    await until(async () => !(await exposition()).includes('priorbook_lag_seconds_count 0'))
    const text = await exposition()
    expect(await promtool(['check', 'metrics'], text)).toEqual({ code: 0, out: '' })
    const wrong = text.replaceAll('priorbook_messages_total', 'priorbook_messages')
    expect((await promtool(['check', 'metrics'], wrong)).out).toContain('"_total" suffix')
  })

  it('accepts the rules, and every rule passes its test', async () => {
    const checked = await promtool(
      ['check', 'rules', '--lint-fatal', 'priorbook.rules.yml'],
      '',
      RULES,
    )
    expect(checked).toMatchObject({ code: 0, out: expect.stringContaining('SUCCESS') })
    const tested = await promtool(['test', 'rules', 'priorbook.tests.yml'], '', RULES)
    expect(tested).toMatchObject({ code: 0, out: expect.stringContaining('SUCCESS') })
  })

  it('finds a rule with another bound, of each alert', async () => {
    const rules = readFileSync(join(RULES, 'priorbook.rules.yml'), 'utf8')
    const tests = readFileSync(join(RULES, 'priorbook.tests.yml'), 'utf8')
    writeFileSync(join(home, 'priorbook.tests.yml'), tests)
    const bounds = rules.replaceAll(/ (?:>|<|==) [\d.]+'$/gm, " == 123456'")
    writeFileSync(join(home, 'priorbook.rules.yml'), bounds)
    const { code, out } = await promtool(['test', 'rules', 'priorbook.tests.yml'], '', home)
    expect(code).not.toBe(0)
    const names = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!)
    expect(names.filter((name) => !out.includes(`alertname="${name}"`))).toEqual([])
  })

  it('parses every query of the dashboard', async () => {
    const queries = dashboardQueries()
    expect(queries.length).toBeGreaterThan(40)
    const file = join(home, 'dashboard.yml')
    writeFileSync(file, toRecordingRules(queries))
    const checked = await promtool(['check', 'rules', file])
    expect(checked).toMatchObject({ code: 0, out: expect.stringContaining('SUCCESS') })
  })
})

describe('the dashboard', () => {
  it('names only metrics and labels that a running service exposes', async () => {
    const text = await exposition()
    const queries = dashboardQueries()
    expect(findUnknown(queries, text, parseScrape(text))).toEqual([])
    const wrong = queries.map((query) => ({ ...query, legend: ['nothing'] }))
    expect(findUnknown(wrong, text, parseScrape(text))).toHaveLength(queries.length)
  })
})

describe('a Prometheus that scrapes the service', () => {
  let prometheus: RunningPrometheus
  beforeAll(async () => {
    const { host } = new URL(served.ops)
    prometheus = await startPrometheus(host, shortened(), SCRAPE_SECONDS)
  })
  afterAll(() => prometheus?.stop())

  const NAME = 'PriorbookVenueNotRecording'
  const isFiring = async (venue: string): Promise<boolean> =>
    (await prometheus.alerts()).some(
      ({ labels, state }) =>
        labels['alertname'] === NAME && labels['venue'] === venue && state === 'firing',
    )

  it('fires an alert while a venue refuses, as the doctor says, and resolves it afterwards', async () => {
    const recording = `priorbook_venue_recording{venue="venueb"}`
    const isRecorded = async (): Promise<boolean> =>
      (await prometheus.query(recording))[0]?.value[1] === '1'
    await until(isRecorded)
    await until(async () => !(await isFiring('venueb')))
    const fault = emulator.inject({ fault: { kind: 'refuse' }, target: { venue: 'venueb' } })
    await until(() => isFiring('venueb'))
    const { out } = await runProgram(process.execPath, [BIN, 'doctor', '--data', data], '', home)
    const finding = out.split('\n').find((line) => line.includes(`${NAME}{venue="venueb"}`))
    expect(finding).toMatch(/^look {2}.* would fire if it lasts for 5m: value 0 \(degraded: .+\)$/)
    emulator.end(fault)
    await until(isRecorded)
    await until(async () => !(await isFiring('venueb')))
  })

  it('has a minute of scrapes, and answers every query of the dashboard', async () => {
    const counted = 'count_over_time(priorbook_disk_free_bytes{job="priorbook"}[10m])'
    await until(async () => Number((await prometheus.query(counted))[0]?.value[1]) >= SCRAPES)
    // A rate needs answers before and after; some of them failed.
    const scrape = parseScrape(await exposition())
    const hasSeries = (promql: string): boolean =>
      namesIn(promql).series.every((name) => (scrape.get(name)?.length ?? 0) > 0)
    const queries = dashboardQueries().filter(({ promql }) => hasSeries(promql))
    expect(queries.length).toBeGreaterThan(30)
    for (const { panel, promql } of queries) {
      await fetch(`${served.url}/v3/nothing`)
      expect([panel, (await prometheus.query(promql)).length > 0]).toEqual([panel, true])
    }
    for (const { promql } of dashboardQueries()) await prometheus.query(promql)
  })
})
