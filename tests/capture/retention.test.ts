import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test, type TestContext } from 'vitest'
import { callServer } from '../../packages/service/src/commands/call.testing.ts'
import { countOf } from './emulated-home.ts'

const BIN = join(import.meta.dirname, '../../packages/service/bin/priorbook-server.mjs')
const AGE_S = 12

test(
  'a recorder with limits keeps its disk flat and declares every hole',
  { timeout: 300_000 },
  async (context) => {
    const service = await start(context)
    const sizes: number[] = []
    const from = performance.now()
    const seconds = countOf(300, 75)
    while (performance.now() - from < seconds * 1000) {
      await pause(1000)
      if (performance.now() - from > 30_000) sizes.push(sizeOf(service.data))
    }
    const metrics = await (await fetch(`${service.ops}/metrics`)).text()
    expect(metrics).toMatch(/priorbook_disk_removed_bytes_total\{venue="\w+",tier="tape"\} [1-9]/)
    expect(metrics).toMatch(
      /priorbook_disk_removed_bytes_total\{venue="\w+",tier="journal"\} [1-9]/,
    )
    expect(metrics).toMatch(/priorbook_disk_kept_limit_seconds\{venue="\w+",tier="tape"\} 12/)
    const half = Math.floor(sizes.length / 2)
    // Medians: a checkpoint or a new file of the journal moves single sizes by a tenth.
    const early = medianOf(sizes.slice(0, half))
    const late = medianOf(sizes.slice(half))
    console.log(`disk: ${early} bytes at first, ${late} later`)
    expect(late).toBeLessThan(early * 1.1)
    await expectDeclared(service)
    await service.stop()
    const verified = await callServer('verify', '--data', service.data, '--json')
    expect(JSON.parse(verified.out)).toMatchObject({ problems: [] })
    const doctor = await callServer('doctor', '--data', service.data)
    expect(doctor).toMatchObject({ code: 0 })
  },
)

type Service = Awaited<ReturnType<typeof start>>

// Rows of a market have consecutive sequences, so the first one tells how many are gone.
async function expectDeclared({ ask }: Service): Promise<void> {
  type Page = {
    data: { sequence: number; received_time: string }[]
    meta: {
      gaps: { reason: string; start_time: string; end_time: string | null }[]
      notice?: unknown
    }
  }
  const listed = await ask<{ data: { key: string; venue: string; reason: string }[] }>(
    '/v3/gaps?reason=retention&limit=1000',
  )
  expect(listed.data.length).toBeGreaterThan(20)
  let emptied = 0
  let cut = 0
  const markets = await ask<{ data: { venue: string; market_id: string; open_time: string }[] }>(
    '/v3/markets?limit=400&status=resolved',
  )
  for (const { venue, market_id: id } of markets.data.slice(0, 150)) {
    const coverage = await ask<{
      data: { key: string; observations: number; gaps: { reason: string }[] }[]
    }>(`/v3/coverage?market=${id}&venue=${venue}`)
    for (const { key, observations, gaps } of coverage.data) {
      const known = listed.data.some((gap) => gap.key === key && gap.venue === venue)
      // More may have gone since the list was made, but never less.
      expect(gaps.some(({ reason }) => reason === 'retention') || !known).toBe(true)
      if (known && observations === 0) emptied++
      else if (known) cut++
    }
    const page = await ask<Page>(`/v3/${venue}/${id}/snapshots?limit=1`).catch(() => undefined)
    if (page === undefined) continue
    const wasCut = coverage.data.some(({ gaps }) =>
      gaps.some(({ reason }) => reason === 'retention'),
    )
    const isCut = page.meta.gaps.some(({ reason }) => reason === 'retention')
    expect(isCut || !wasCut).toBe(true)
    const said = JSON.stringify(page.meta.notice ?? '').includes('"code":"retention"')
    expect(said).toBe(page.data.length === 0 && isCut)
    expect(isCut || (page.data[0]?.sequence ?? 1) === 1).toBe(true)
  }
  console.log(`markets without a row left: ${emptied}, with some: ${cut}`)
  expect(emptied).toBeGreaterThan(10)
}

async function start({ onTestFinished }: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'priorbook-retention-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const data = join(home, 'data')
  const limits = {
    PRIORBOOK_RETENTION_TAPE_AGE: `${AGE_S}s`,
    PRIORBOOK_RETENTION_JOURNAL_AGE: `${AGE_S}s`,
    PRIORBOOK_RETENTION_QUARANTINE_BYTES: '1MB',
  }
  const args = ['serve', '--upstream', 'emulator', '--speed', '60', '--data', data]
  const child = spawn(process.execPath, [BIN, ...args, '--port', '0', '--workers', '1'], {
    cwd: home,
    env: { ...process.env, PRIORBOOK_OPS_PORT: '0', PRIORBOOK_LOG_LEVEL: 'warn', ...limits },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  child.stdout.on('data', (part) => (text += String(part)))
  child.stderr.on('data', (part) => (text += String(part)))
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  while (!/^ {2}curl/m.test(text) && child.exitCode === null) await pause(20)
  const made = await callServer('keys', 'create', '--plan', 'unlimited', '--data', data, '--json')
  const { key } = JSON.parse(made.out) as { key: string }
  const url = /(http:\/\/\S+)\/docs/.exec(text)?.[1] ?? ''
  return {
    data,
    ops: /^status (\S+)\/ /m.exec(text)?.[1] ?? '',
    ask: async <T>(path: string): Promise<T> => {
      const answer = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })
      const body = await answer.text()
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${body}`)
      return JSON.parse(body) as T
    },
    async stop() {
      child.kill('SIGTERM')
      expect(await ended).toBe(0)
    },
  }
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}

function sizeOf(folder: string): number {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.reduce((sum, name) => {
    const stat = statSync(join(folder, name), { throwIfNoEntry: false })
    return sum + (stat?.isFile() === true ? stat.size : 0)
  }, 0)
}
