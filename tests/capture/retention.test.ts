import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test, type TestContext } from 'vitest'
import { callServer } from '../../packages/service/src/commands/call.testing.ts'
import { startServe } from '../../packages/service/src/commands/serve.testing.ts'
import { countOf } from './emulated-home.ts'
import { until } from './recorder-process.ts'

const AGE_S = 12
// A busy machine records, packs and removes later.
const PATIENCE_MS = 60_000
// The file of the tape reaches its size when the first rows have gone and their pages are used again.
const WARM_UP_MS = 50_000

test(
  'a recorder with limits keeps its disk flat and declares every hole',
  { timeout: 300_000 },
  async (context) => {
    const service = await start(context)
    const sizes: number[] = []
    const from = performance.now()
    const seconds = countOf(300, 95)
    let early: readonly Market[] = []
    while (performance.now() - from < seconds * 1000) {
      await pause(1000)
      if (early.length === 0) {
        early = (await service.ask<{ data: Market[] }>('/v3/markets?venue=venuec&limit=50')).data
      }
      if (performance.now() - from > WARM_UP_MS) sizes.push(sizeOf(service.data))
    }
    const metrics = await (await fetch(`${service.ops}/metrics`)).text()
    expect(metrics).toMatch(/priorbook_disk_removed_bytes_total\{venue="\w+",tier="tape"\} [1-9]/)
    expect(metrics).toMatch(
      /priorbook_disk_removed_bytes_total\{venue="\w+",tier="journal"\} [1-9]/,
    )
    expect(metrics).toMatch(/priorbook_disk_kept_limit_seconds\{venue="\w+",tier="tape"\} 12/)
    await until('markets without a row left', PATIENCE_MS, async () =>
      (await countDeclared(service)) > 10 ? true : undefined,
    )
    await expectRemoved(service, early)
    await expectCutRecords(service)
    await service.stop()
    const verified = await callServer('verify', '--data', service.data, '--json')
    expect(JSON.parse(verified.out)).toMatchObject({ problems: [] })
    const doctor = await callServer('doctor', '--data', service.data)
    expect(doctor).toMatchObject({ code: 0 })
    const half = Math.floor(sizes.length / 2)
    // Medians: a checkpoint or a new file of the journal moves single sizes by a tenth.
    const before = medianOf(sizes.slice(0, half))
    const after = medianOf(sizes.slice(half))
    console.log(`disk: ${before} bytes at first, ${after} later`)
    expect(after).toBeLessThan(before * 1.1)
  },
)

type Service = Awaited<ReturnType<typeof start>>
type Market = { readonly market_id: string; readonly close_time: string | null }
type Notices = { readonly meta: { readonly notice?: unknown } }

const noticesOf = ({ meta }: Notices): readonly { readonly code: string }[] =>
  [meta.notice ?? []].flat() as { code: string }[]

// Markets that ended long ago are gone from the lists, and the lists say so.
async function expectRemoved({ ask }: Service, early: readonly Market[]): Promise<void> {
  expect(early.length).toBeGreaterThan(0)
  for (const path of ['/v3/markets?venue=venuec', '/v3/gaps?venue=venuec', '/v3/coverage?']) {
    const [notice] = noticesOf(await ask<Notices>(path)).filter(
      ({ code }) => code === 'markets_removed',
    )
    expect([path, notice]).toMatchObject([path, { removed_markets: expect.any(Number) }])
  }
  const kept = noticesOf(await ask<Notices>('/v3/markets?venue=venueb&limit=1'))
  expect(kept.map(({ code }) => code)).not.toContain('markets_removed')
  // Longer rounds than these still trade.
  const long = Date.now() - 4 * AGE_S * 1000
  const ended = early.filter(({ close_time: close }) => Date.parse(close ?? '') < long)
  expect(ended.length).toBeGreaterThan(0)
  for (const { market_id: id } of ended) {
    const path = `/v3/coverage?venue=venuec&market=${id}`
    let last: unknown
    const gone = (): Promise<string | undefined> =>
      ask(path).then((answer) => void (last = answer), String)
    const why = await until(`no ${id}`, PATIENCE_MS, gone).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(last).slice(0, 1500)}`)
    })
    expect(why).toMatch(/404.*ended before.*were removed/s)
  }
}

// Versions of a record go with the rows of their time; the last one stays.
async function expectCutRecords({ ask }: Service): Promise<void> {
  type Revisions = Notices & { readonly data: readonly { readonly revision: number }[] }
  const { data } = await ask<{ data: Market[] }>(
    '/v3/markets?venue=venueb&status=resolved&limit=50',
  )
  let cut = 0
  for (const { market_id: id } of data) {
    const revisions = await ask<Revisions>(`/v3/venueb/${id}/revisions?limit=1000`)
    const first = revisions.data[0]!.revision
    const isSaid = noticesOf(revisions).some(({ code }) => code === 'retention')
    expect([id, isSaid]).toEqual([id, first > 1])
    const numbers = revisions.data.map(({ revision }) => revision)
    expect(numbers).toEqual(numbers.map((_, index) => first + index))
    if (first > 1) cut++
  }
  console.log(`records with removed versions: ${cut} of ${data.length}`)
  expect(cut).toBeGreaterThan(10)
}

// Rows of a market have consecutive sequences, so the first one tells how many are gone. Returns how many
// instruments have no row left.
async function countDeclared({ ask }: Service): Promise<number> {
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
  if (listed.data.length <= 20) return 0
  let emptied = 0
  let cut = 0
  const markets = await ask<{ data: { venue: string; market_id: string; open_time: string }[] }>(
    '/v3/markets?limit=400&status=resolved',
  )
  const stay = markets.data.filter(({ venue }) => venue !== 'venuec')
  for (const { venue, market_id: id } of stay.slice(0, 150)) {
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
  return emptied
}

async function start({ onTestFinished }: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'priorbook-retention-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const data = join(home, 'data')
  const limits = {
    PRIORBOOK_RETENTION_TAPE_AGE: `${AGE_S}s`,
    PRIORBOOK_RETENTION_JOURNAL_AGE: `${AGE_S}s`,
    PRIORBOOK_RETENTION_QUARANTINE_BYTES: '1MB',
    // Few, so that a busy machine keeps up: with a limit by age, the disk follows the rate of messages.
    PRIORBOOK_EMULATOR_CHANGES: '1',
    // One venue forgets its markets too.
    PRIORBOOK_VENUEC_RETENTION_MARKETS_AGE: `${AGE_S}s`,
  }
  const args = ['--upstream', 'emulator', '--speed', '60', '--data', data, '--workers', '1']
  const { child, end, url, ops } = await startServe(home, args, {
    PRIORBOOK_LOG_LEVEL: 'warn',
    ...limits,
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const made = await callServer('keys', 'create', '--plan', 'unlimited', '--data', data, '--json')
  const { key } = JSON.parse(made.out) as { key: string }
  return {
    data,
    ops,
    ask: async <T>(path: string): Promise<T> => {
      const answer = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })
      const body = await answer.text()
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${body}`)
      return JSON.parse(body) as T
    },
    async stop() {
      expect(await end()).toBe(0)
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
