import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Micros } from '@priorbook/sdk/domain'
import { ALERTS } from '../ops/alerts.ts'
import { openEmbeddedStore } from '../store/embedded/open.ts'
import { callServer } from './call.testing.ts'
import type { Finding } from './finding.ts'

const scratch = mkdtempSync(join(tmpdir(), 'priorbook-doctor-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

async function examine(data: string, ...more: string[]): Promise<Finding[]> {
  const { out } = await callServer('doctor', '--data', data, '--json', ...more)
  const findings = JSON.parse(out) as Finding[]
  // Whatever is wrong, the operator is told what to do.
  expect(findings.filter(({ level, advice }) => level !== 'ok' && advice === undefined)).toEqual([])
  return findings
}

/** A folder whose newest record was received `aheadSeconds` from now, by a clock that far off the venue's. */
async function createFolder(name: string, aheadSeconds: number): Promise<string> {
  const data = join(scratch, name)
  mkdirSync(data)
  const store = openEmbeddedStore({ file: join(data, 'tape.db') })
  const received = ((Date.now() + aheadSeconds * 1000) * 1000) as Micros
  await store.append({
    venue: 'venueb',
    origin: 'live',
    recorder: 'r1',
    normalizer: 1,
    position: 1,
    samples: [
      {
        kind: 'sample',
        instrument: { venue: 'venueb', market: 'clock', key: 'clock' },
        metric: 'clock_offset_us',
        value: String(-aheadSeconds * 1e6),
        received,
        journal: 1,
      },
    ],
    facts: { 'reached:venueb': received },
  })
  await store.close()
  return data
}

describe('doctor', () => {
  it('explains every alert by its name', async () => {
    for (const { name, meaning, steps } of ALERTS) {
      const { code, out } = await callServer('doctor', '--alert', name.toLowerCase())
      expect([name, code]).toEqual([name, 0])
      for (const text of [name, meaning, ...steps]) expect(out).toContain(text)
    }
    const unknown = await callServer('doctor', '--alert', 'Nonsense')
    expect(unknown.code).toBe(2)
    expect(unknown.err).toContain('PriorbookDiskFull')
  })

  it('finds a clock that is off', async () => {
    const fine = await examine(await createFolder('on-time', -1))
    expect(fine.filter(({ text }) => text.includes('clock'))).toEqual([])
    const off = await examine(await createFolder('ahead', 60))
    const found = off.filter(({ text }) => text.includes('clock'))
    expect(found.map(({ level }) => level)).toEqual(['bad', 'look'])
    expect(found[0]!.text).toMatch(/^venueb: the newest record is of .*, (60|59) s in the future/)
    expect(found[1]!.text).toBe(
      'venueb: its clock was 60.0 s behind ours when they were last compared',
    )
    expect(found[0]!.advice).toContain('timedatectl')
  })

  it('says what to do where the tape or the whole folder is missing', async () => {
    const [, none] = await examine(join(scratch, 'nowhere'))
    expect(none).toMatchObject({ level: 'look', text: expect.stringContaining('does not exist') })
    const data = join(scratch, 'no-tape')
    mkdirSync(join(data, 'journal'), { recursive: true })
    const without = (await examine(data)).find(({ level }) => level === 'bad')
    expect(without!.advice).toContain('rebuild --fresh')
    renameSync(join(data, 'journal'), join(data, 'other'))
    const neither = (await examine(data)).find(({ text }) => text.includes('neither'))
    expect(neither!.advice).toContain('--data')
  })

  it('says in one line that the database is damaged, and what is left to do', async () => {
    const data = await createFolder('damaged', 0)
    const file = join(data, 'tape.db')
    const bytes = readFileSync(file)
    for (let page = 2; page * 4096 < bytes.length; page++)
      bytes.fill(0, page * 4096, page * 4096 + 64)
    writeFileSync(file, bytes)
    const bad = (): Promise<Finding> =>
      examine(data).then((findings) => findings.find(({ level }) => level === 'bad')!)
    const found = await bad()
    expect(found.text).toMatch(/^corrupt_database: [^\n]+$/)
    expect(found.advice).toContain('restore a backup')
    expect(found.advice).not.toContain('rebuild')
    mkdirSync(join(data, 'journal'))
    expect((await bad()).advice).toContain('rebuild --fresh')
  })

  it('judges the alerts of the service that records into the folder', async () => {
    const data = await createFolder('served', 0)
    const unknown = (await examine(data)).at(-1)!
    expect(unknown.text).toContain('no service is known')
    let refused = 3
    const server = createServer((request, response) => {
      const status = { recorder: { venues: { venueb: { connector: CONNECTOR } } } }
      const metrics = `priorbook_venue_recording{venue="venueb"} 0\npriorbook_venue_recording{venue="venuec"} 1
priorbook_disk_full 1\npriorbook_quota_refused_total{venue="venueb"} ${refused++}\n`
      response.end(request.url === '/metrics' ? metrics : JSON.stringify(status))
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/metrics`
    writeFileSync(
      join(data, 'serve.json'),
      JSON.stringify({ pid: 1, url, health: url, metrics: url }),
    )
    const found = (await examine(data)).filter(({ text }) => text.includes('would fire'))
    expect(found.map(({ level, text }) => `${level} ${text}`)).toEqual([
      'look PriorbookVenueNotRecording{venue="venueb"} would fire if it lasts for 5m: value 0 (degraded: no socket)',
      'look PriorbookQuotaRefused{venue="venueb"} would fire if it lasts for 10m: value 1 (degraded: no socket)',
      'bad PriorbookDiskFull would fire: value 1',
    ])
    expect(found[0]!.advice).toContain('doctor --alert PriorbookVenueNotRecording')
    server.close()
    server.closeAllConnections()
    const gone = (await examine(data)).at(-1)!
    expect(gone).toMatchObject({ level: 'look', text: expect.stringContaining('PriorbookDown') })
  })
})

const CONNECTOR = { state: 'degraded', detail: 'no socket' }
