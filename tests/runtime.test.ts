import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'

const SCRIPT = join(import.meta.dirname, '../scripts/check-runtime.mjs')
const INSTALLED = join(import.meta.dirname, '../node_modules/node')

it('refuses a Node that differs from the published one by a byte', () => {
  const check = (folder: string) =>
    spawnSync(process.execPath, [SCRIPT, folder], { encoding: 'utf8' })
  expect(check(INSTALLED)).toMatchObject({ status: 0, stderr: '' })

  const folder = mkdtempSync(join(tmpdir(), 'priorbook-runtime-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const changed = join(folder, 'bin/node')
  mkdirSync(dirname(changed))
  cpSync(join(INSTALLED, 'package.json'), join(folder, 'package.json'))
  const bytes = readFileSync(join(INSTALLED, 'bin/node'))
  bytes[bytes.length >> 1]! ^= 1
  writeFileSync(changed, bytes)
  const { status, stderr } = check(folder)
  expect(status).toBe(1)
  expect(stderr).toContain('is not Node')
})

const ROOT = join(import.meta.dirname, '..')
const PROGRAMS = [
  'packages/sdk/bin/priorbook.mjs',
  'packages/service/bin/priorbook-server.mjs',
  'packages/service/bin/priorbook.mjs',
  'packages/emulator/bin/priorbook-emulator.mjs',
]

describe.each(PROGRAMS)('%s on an old Node', (path) => {
  const file = join(ROOT, path)

  it('is readable up to the check: nothing is imported before it, and nothing awaited', () => {
    const text = readFileSync(file, 'utf8').replaceAll(/^ *\/\/.*$/gm, '')
    expect([...text.matchAll(/^import\s.*/gm)].map(([line]) => line)).toEqual([
      "import '../../../scripts/check-node.mjs'",
    ])
    expect(text).not.toMatch(/\bawait\b/)
    const check = readFileSync(join(ROOT, 'scripts/check-node.mjs'), 'utf8')
    expect(check).not.toMatch(/^import|\?\.|\?\?|\bawait\b/m)
  })

  it('says in a sentence which one it needs', () => {
    // An old Node where the machine has one, and this one that says it is old.
    const old =
      'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"18.1.0"})'
    const own = [process.execPath, '--import', old]
    for (const [node = '', ...args] of [own, ...oldNodes().map((found) => [found])]) {
      const { status, stdout, stderr } = spawnSync(node, [...args, file, '--version'], {
        encoding: 'utf8',
      })
      expect([status, stdout, stderr.trim().split('\n').length]).toEqual([1, '', 1])
      expect(stderr).toMatch(/^Priorbook needs Node 24, this is \d+/)
    }
  })
})

// The Node of the system, where it is older than ours.
function oldNodes(): string[] {
  return ['/usr/bin/node', '/usr/local/bin/node'].filter((path) => {
    const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' })
    return typeof stdout === 'string' && /^v(?:\d|1\d|2[0-3])\./.test(stdout)
  })
}

it('asks for a Node with which npm warns of none of its own packages', () => {
  type Manifest = { readonly engines?: { readonly node?: string } }
  const leastOf = (path: string): number[] => {
    const { engines } = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Manifest
    return /^>=(\d+)(?:\.(\d+))?$/
      .exec(engines?.node ?? '>=0')!
      .slice(1)
      .map((part) => Number(part ?? 0))
  }
  const [major = 0, minor = 0] = leastOf('package.json')
  for (const name of ['sdk', 'emulator']) {
    const [ownMajor = 0, ownMinor = 0] = leastOf(`packages/${name}/package.json`)
    expect(major * 1000 + minor).toBeGreaterThanOrEqual(ownMajor * 1000 + ownMinor)
  }
})
