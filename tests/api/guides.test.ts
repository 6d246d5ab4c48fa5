import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSharedApi, type EmulatedApi } from './emulated-api.ts'

let api: EmulatedApi
let url: string
const folder = mkdtempSync(join(tmpdir(), 'priorbook-guides-'))

beforeAll(async () => {
  api = await openSharedApi()
  url = (await api.server.listen({ host: '127.0.0.1', port: 0 })).url
}, 180_000)

afterAll(async () => {
  await api.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('the examples of the guides', () => {
  it('all run against a live server', async () => {
    const script = blocksOf('docs/guide/rest.md').join('\n')
    const asked = [...script.matchAll(/^\s*(ask|curl) /gm)].length
    expect(asked).toBeGreaterThan(25)
    const before = api.statuses.length
    const { code, output } = await run(script)
    expect([code, output]).toEqual([0, ''])
    const statuses = api.statuses.slice(before)
    expect(statuses.length).toBeGreaterThanOrEqual(asked)
    expect(statuses.filter((status) => status !== 200)).toEqual([])
  })

  it('would fail with a wrong address', async () => {
    const [helpers] = blocksOf('docs/guide/rest.md')
    const { code } = await run(`${helpers}\nask /v3/nothing`)
    expect(code).not.toBe(0)
  })
})

function blocksOf(file: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block!)
}

// Stops at the first line that fails; `node` of the script is the one that runs here.
async function run(script: string): Promise<{ code: number | null; output: string }> {
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  const child = spawn('sh', ['-eu', '-c', script], {
    cwd: folder,
    env: { PATH, URL: url, KEY: api.keyOf() },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (text: Buffer) => (output += text.toString()))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, output }
}
