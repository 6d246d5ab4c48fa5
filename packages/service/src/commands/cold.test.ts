import { createHash } from 'node:crypto'
import { globSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { callServer } from './call.testing.ts'
import { startServe } from './serve.testing.ts'

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url))
const MARKET = 'KXSYNT15M-26AUG102130-30'
const scratch = mkdtempSync(join(tmpdir(), 'priorbook-cold-'))

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

async function call<T>(data: string, ...args: string[]): Promise<T> {
  const { code, out, err } = await callServer(...args, '--data', data, '--json')
  if (code !== 0) throw Object.assign(new Error(`${err}${out}`), JSON.parse(err) as object)
  return JSON.parse(out) as T
}

async function serve(data: string, args: readonly string[], env = {}) {
  const { key } = await call<{ key: string }>(data, 'keys', 'create', '--plan', 'unlimited')
  const served = await startServe(scratch, ['--data', data, '--workers', '1', ...args], env)
  onTestFinished(() => void served.child.kill('SIGKILL'))
  const ask = (path: string): Promise<Response> =>
    fetch(served.url + path, { headers: { authorization: `Bearer ${key}` } })
  return { ...served, ask }
}

const BOOKS = `/v3/venueb/${MARKET}/snapshots?end_time=1786500000000000`
const DOWNLOAD = `/v3/bulk?venue=venueb&dataset=books&market_id=${MARKET}&end_time=1786500000000000`
const PATHS = [
  `${BOOKS}&limit=1000`,
  `${BOOKS}&limit=1000&order=desc`,
  `${BOOKS}&limit=500&interval=10s`,
  `/v3/venueb/${MARKET}/trades?limit=1000&end_time=1786500000000000`,
  `${DOWNLOAD}&format=ndjson`,
  `${DOWNLOAD}&format=tape`,
]

type Page = { readonly data: unknown; readonly meta: { readonly gaps: unknown } }

/** Hashes of what the API answers, without what changes with every request. */
async function answersOf(data: string): Promise<string[]> {
  const { ask, end } = await serve(data, ['--upstream', 'none'])
  const answers: string[] = []
  for (const path of PATHS) {
    const answer = await ask(path)
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect([path, answer.status]).toEqual([path, 200])
    let content: string | Buffer = bytes
    if (answer.headers.get('content-type')?.includes('/json') === true) {
      const page = JSON.parse(bytes.toString('utf8')) as Page
      content = JSON.stringify([page.data, page.meta.gaps])
    }
    const hash = createHash('sha256').update(content).digest('hex')
    answers.push(`${path} ${bytes.length > 1000} ${answer.headers.get('etag')} ${hash}`)
  }
  await end()
  return answers
}

describe('priorbook-server cold', () => {
  it('moves an imported market; every answer, entity tag and check stays the same', async () => {
    const data = join(scratch, 'sample')
    const address = join(scratch, 'archive')
    await call(data, 'import', 'venueb', SAMPLE)
    const before = await answersOf(data)
    const counted = await call<{ observations: number }>(data, 'verify', '--journal')
    const move = ['cold', '--to', address, '--older', '0s']
    type Moved = { readonly moved: { readonly chunks: number }; readonly there: object }
    const { moved, there } = await call<Moved>(data, ...move)
    expect(moved.chunks).toBeGreaterThan(3)
    expect(there).toMatchObject({ chunks: moved.chunks })
    expect(globSync(join(address, 'tape/v1/venueb/2026-08-*/*.seg')).length).toBeGreaterThan(0)
    expect(await answersOf(data)).toEqual(before)
    const after = await call<object>(data, 'verify', '--journal')
    expect(after).toMatchObject({ observations: counted.observations, problems: [] })
    expect(await call(data, 'rebuild')).toMatchObject({ differences: [] })
    // A backup refers to the same segments.
    const copy = join(scratch, 'copy')
    await call(data, 'backup', copy)
    expect(await call(copy, 'verify')).toMatchObject({ problems: [] })
    // It can be restored without them, and says what is missing.
    const restored = join(scratch, 'restored')
    renameSync(address, `${address}.away`)
    const { code, err } = await callServer('restore', copy, '--data', restored)
    expect([code, err]).toEqual([0, expect.stringContaining(`warning: tape/v1/venueb/`)])
    renameSync(`${address}.away`, address)
    expect(await call(restored, 'verify')).toMatchObject({ problems: [] })
    const again = await call<Moved>(data, ...move)
    expect(again.moved).toMatchObject({ chunks: 0, segments: 0 })
  })

  it('says what to do where it cannot', async () => {
    const data = join(scratch, 'refused')
    await call(data, 'import', 'venueb', SAMPLE)
    const archive = join(scratch, 'x')
    const wrong: readonly (readonly [string, ...string[]])[] = [
      ['invalid_argument'],
      ['invalid_config', '--to', 'ftp://archive'],
      ['objects_refused', '--to', join(data, 'tape.db', 'x')],
      ['invalid_config', '--to', archive, '--older', 'soon'],
    ]
    for (const [code, ...args] of wrong) {
      await expect(call(data, 'cold', ...args)).rejects.toMatchObject({ code })
    }
    expect(await call(data, 'verify')).toMatchObject({ problems: [] })
  })
})

describe('serve with cold.address', () => {
  it(
    'moves while it records; without the storage old rows are 503 and recording goes on',
    { timeout: 300_000 },
    async () => {
      const data = join(scratch, 'live')
      const address = join(scratch, 'live-archive')
      const { ask, ops, end } = await serve(data, ['--upstream', 'emulator', '--speed', '60'], {
        PRIORBOOK_EMULATOR_CHANGES: '10',
        PRIORBOOK_VENUEA_ENABLED: 'false',
        PRIORBOOK_VENUEC_ENABLED: 'false',
        PRIORBOOK_COLD_ADDRESS: address,
        PRIORBOOK_COLD_AFTER: '4s',
        // A new file of the journal every 15 s.
        PRIORBOOK_RETENTION_JOURNAL_AGE: '2m',
        PRIORBOOK_LOG_LEVEL: 'warn',
      })
      const metric = async (name: string): Promise<number> => {
        const lines = (await (await fetch(`${ops}/metrics`)).text()).split('\n')
        const own = lines.filter((line) => line.startsWith(name))
        return own.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
      }
      const until = async (what: () => Promise<boolean>): Promise<void> => {
        const from = Date.now()
        while (!(await what())) {
          if (Date.now() - from > 100_000) throw new Error('it did not come')
          await pause(200)
        }
      }
      await until(async () => (await metric('priorbook_cold_chunks')) > 8)
      await until(async () => (await metric('priorbook_cold_journal_bytes')) > 0)
      const pathsOf = async (): Promise<string[]> => {
        const list = await ask('/v3/markets?venue=venueb&limit=500&order=asc')
        const { data: markets } = (await list.json()) as { data: { market_id: string }[] }
        return markets.map(({ market_id: id }) => `/v3/venueb/${id}/snapshots?limit=1000`)
      }
      // One that was listed just before it closed has no rows.
      let [path, rows]: [string, readonly { readonly id: string }[]] = ['', []]
      for (path of await pathsOf()) {
        const first = await ask(path)
        expect(first.status).toBe(200)
        rows = ((await first.json()) as { data: { id: string }[] }).data
        if (rows.length > 10) break
      }
      expect(rows.length).toBeGreaterThan(10)
      // Its raw message is in a file that left this machine.
      expect(globSync(join(address, 'journal/v1/venueb/0000000000000001-*.pbj'))).toHaveLength(1)
      const audit = path.replace('snapshots?limit=1000', `audit?id=${rows[3]!.id}`)
      const audited = await ask(audit)
      expect(await audited.json()).toMatchObject({ data: { state: 'equal' } })

      // Its read took the chunks beside it along. Later segments are not in the cache.
      const moved = await metric('priorbook_cold_chunks')
      await until(async () => (await metric('priorbook_cold_chunks')) > moved + 8)
      const others = (await pathsOf()).filter((other) => other !== path)
      renameSync(address, `${address}.away`)
      await until(async () => (await metric('priorbook_cold_failing')) === 1)
      const recorded = await metric('priorbook_rows_total')
      await until(async () => (await metric('priorbook_rows_total')) > recorded + 100)
      const statuses = new Set<number>()
      for (const other of others) {
        const answer = await ask(other)
        statuses.add(answer.status)
        expect(await answer.text()).not.toContain('"corrupt"')
      }
      expect([...statuses]).toContain(503)
      renameSync(`${address}.away`, address)
      await until(async () => (await metric('priorbook_cold_failing')) === 0)
      const again = (await (await ask(path)).json()) as { data: unknown[] }
      expect(again.data).toEqual(rows)
      expect(await end()).toBe(0)
      expect(await call(data, 'verify', '--journal')).toMatchObject({ problems: [] })

      // The tape of a machine whose journal is lost finds what had left that machine.
      const other = join(scratch, 'found')
      await call(data, 'backup', other)
      rmSync(join(other, 'journal'), { recursive: true })
      const { found } = await call<{ found: number }>(other, 'cold', '--find', '--to', address)
      expect(found).toBeGreaterThan(0)
      const second = await serve(other, ['--upstream', 'none'])
      expect(await (await second.ask(audit)).json()).toMatchObject({ data: { state: 'equal' } })
      await second.end()
    },
  )
})
