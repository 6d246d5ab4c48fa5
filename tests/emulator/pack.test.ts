import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'priorbook-emulator-pack-'))
const clean = join(folder, 'clean')
const env = {
  ...process.env,
  PATH: [dirname(process.execPath), process.env['PATH']].join(':'),
  npm_config_cache: join(folder, 'cache'),
  npm_config_update_notifier: 'false',
}
const QUIET = ['--silent', '--ignore-scripts', '--no-audit', '--no-fund', '--offline']

function pack(source: string): void {
  execFileSync('npm', ['pack', ...QUIET, '--pack-destination', folder], { cwd: source, env })
}

beforeAll(() => {
  for (const name of ['sdk', 'emulator']) {
    const built = join(folder, name)
    execFileSync(process.execPath, [join(root, 'scripts/build-package.mjs'), name, '--out', built])
    pack(built)
  }
  // The one dependency of others, from the workspace: the test needs no network.
  pack(join(root, 'node_modules/ws'))
  mkdirSync(clean)
  writeFileSync(join(clean, 'package.json'), '{"name":"clean","private":true,"type":"module"}')
  const tarballs = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  const paths = tarballs.map((name) => join(folder, name))
  execFileSync('npm', ['install', ...QUIET, ...paths], { cwd: clean, env })
}, 180_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the packed emulator', () => {
  it('depends on the SDK and ws alone and contains no sources', () => {
    const home = join(clean, 'node_modules/@priorbook/emulator')
    const files = readdirSync(home, { recursive: true }) as string[]
    expect(files.filter((name) => /(?<!\.d)\.ts$|\.(test|testing)\./.test(name))).toEqual([])
    expect(files).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'index.js']))
    const { private: isPrivate, dependencies } = JSON.parse(
      readFileSync(join(home, 'package.json'), 'utf8'),
    ) as Record<string, object>
    expect(isPrivate).toBeUndefined()
    expect(Object.keys(dependencies!)).toEqual(['@priorbook/sdk', 'ws'])
    expect(readdirSync(join(clean, 'node_modules/@priorbook')).sort()).toEqual(['emulator', 'sdk'])
  })

  it('starts from the command line, answers a request and ends with its parent', async () => {
    const program = join(clean, 'node_modules/.bin/priorbook-emulator')
    const child = spawn(program, ['--json', '--venues', 'venueb', '--until-stdin-ends'], {
      cwd: clean,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const errors: string[] = []
    child.stderr.on('data', (data: Buffer) => errors.push(data.toString()))
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    const line = await Promise.race([
      new Promise<string>((resolve) => {
        createInterface({ input: child.stdout }).once('line', resolve)
      }),
      ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${errors.join('')}`))),
    ])
    const { venueb } = JSON.parse(line) as { venueb: { rest: string } }
    const answer = await fetch(`${venueb.rest}/markets?status=open&limit=1`)
    expect(((await answer.json()) as { markets: unknown[] }).markets).toHaveLength(1)
    child.stdin.end()
    expect([await ended, errors]).toEqual([0, []])
  })
})
