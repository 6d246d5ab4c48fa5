import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

// A clone of the last commit, with the modules of the repository: what is released is what is committed.
const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'priorbook-release-'))
const clone = join(folder, 'clone')
const out = join(folder, 'out')
const calls = join(folder, 'calls')
const VERSION = '99.1.0'

function git(...args: readonly string[]): string {
  const who = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
  return execFileSync('git', [...who, ...args], { cwd: clone, encoding: 'utf8' })
}

function commit(message: string): void {
  git('add', '--all')
  git('commit', '--quiet', '--no-verify', '--message', message)
}

beforeAll(() => {
  execFileSync('git', ['clone', '--quiet', '--local', root, clone])
  writeFileSync(join(clone, '.git/info/exclude'), 'node_modules\n')
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'))
  // Writes down what npm is called with, and never lets it publish.
  writeFileSync(
    join(folder, 'npm.mjs'),
    `import { appendFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
const args = process.argv.slice(2)
appendFileSync(${JSON.stringify(calls)}, JSON.stringify(args) + '\\n')
if (args[0] === 'publish') process.exit(0)
const npm = ${JSON.stringify(process.env['npm_execpath'] ?? '')}
const [command, ...first] = npm === '' ? ['npm'] : [process.execPath, npm]
process.exit(spawnSync(command, [...first, ...args], { stdio: 'inherit' }).status ?? 1)
`,
  )
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function release(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  rmSync(calls, { force: true })
  const script = join(clone, 'scripts/release/release.mjs')
  const { ACTIONS_ID_TOKEN_REQUEST_URL: _, SIGSTORE_ID_TOKEN: __, ...own } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args, '--out', out], {
    cwd: clone,
    env: { ...own, npm_execpath: join(folder, 'npm.mjs'), ...env },
    encoding: 'utf8',
  })
  const called = existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []
  return { status, stdout, stderr, called: called.map((line) => JSON.parse(line) as string[]) }
}

function setVersion(version: string): void {
  const script = join(clone, 'scripts/release/set-version.mjs')
  execFileSync(process.execPath, [script, version], { cwd: clone })
}

function edit(file: string, change: (text: string) => string): void {
  const path = join(clone, file)
  writeFileSync(path, change(readFileSync(path, 'utf8')))
}

describe('a release', () => {
  it('is refused while the tree is not clean, with all reasons at once', () => {
    setVersion(VERSION)
    edit('packages/sdk/package.json', (text) => text.replace(VERSION, '99.0.0'))
    edit('package-lock.json', (text) =>
      text.replace(/("node_modules\/ws": \{[^}]*"license": )"MIT"/, '$1"AGPL-3.0-only"'),
    )
    edit('CHANGELOG.md', (text) => text.replace('## Unreleased', '## Unreleased\n\n- one more'))
    const { status, stderr, called } = release([])
    expect([status, called]).toEqual([1, []])
    expect(stderr).toContain('package.json names no repository')
    expect(stderr).toContain('the tree has changes that are not committed')
    expect(stderr).toContain(`packages/sdk/package.json has version 99.0.0, not ${VERSION}`)
    expect(stderr).toContain('ws has the licence AGPL-3.0-only, which is not on the list')
    expect(stderr).toContain('1 entries under "Unreleased"')
    git('checkout', '--quiet', '.')
  })

  it('needs an entry in the changelog', () => {
    setVersion(VERSION)
    edit('CHANGELOG.md', (text) => text.replace(`## ${VERSION}`, '## 98.0.0'))
    const { status, stderr } = release(['--dry-run'])
    expect([status, stderr]).toEqual([1, expect.stringContaining(`no entry "## ${VERSION}"`)])
    git('checkout', '--quiet', '.')
  })

  it('is built, listed and hashed by a dry run, which publishes nothing', () => {
    setVersion(VERSION)
    edit('package.json', (text) =>
      text.replace(
        '"license"',
        '"repository": { "type": "git", "url": "git+https://example.com/x.git" },\n  "license"',
      ),
    )
    commit('release')
    const { status, stdout, stderr, called } = release(['--dry-run'])
    // Where npm has something to say, it says it there.
    expect([status, stderr]).toEqual([0, expect.any(String)])
    expect(called.map(([command]) => command)).toEqual([
      'pack',
      'pack',
      'pack',
      'install',
      'sbom',
      'sbom',
    ])
    const tarballs = ['priorbook-sdk', 'priorbook-emulator', 'priorbook'].map(
      (name) => `${name}-${VERSION}.tgz`,
    )
    expect(readdirSync(out).toSorted()).toEqual(
      [...tarballs, 'SHA256SUMS', 'explorer.cdx.json', 'priorbook.cdx.json'].toSorted(),
    )
    const sums = readFileSync(join(out, 'SHA256SUMS'), 'utf8').trim().split('\n')
    for (const file of [...tarballs, 'explorer.cdx.json', 'priorbook.cdx.json']) {
      const sum = createHash('sha256')
        .update(readFileSync(join(out, file)))
        .digest('hex')
      expect(sums).toContain(`${sum}  ${file}`)
    }
    const published = [...stdout.matchAll(/^would run: npm publish \S*\/(\S+) (.*)$/gm)]
    expect(published.map(([, file, options]) => [file, options])).toEqual(
      tarballs.map((file) => [file, '--provenance --access public --tag latest']),
    )
    expect(stdout).toContain('dry run: nothing was published')
    const packed = ['-xzOf', join(out, tarballs[0]!), 'package/package.json']
    expect(JSON.parse(execFileSync('tar', packed, { encoding: 'utf8' }))).toMatchObject({
      name: '@priorbook/sdk',
      version: VERSION,
      repository: { type: 'git', directory: 'packages/sdk' },
    })
  }, 300_000)

  it('lists every installed package in its bills of materials, and no tool', () => {
    type Component = { readonly name: string; readonly version: string }
    type Bom = {
      readonly bomFormat: string
      readonly metadata: { readonly component: Component }
      readonly components: readonly Component[]
    }
    const read = (file: string): Bom => JSON.parse(readFileSync(join(out, file), 'utf8')) as Bom
    const installed = read('priorbook.cdx.json')
    const explorer = read('explorer.cdx.json')
    expect([installed.bomFormat, installed.metadata.component]).toMatchObject([
      'CycloneDX',
      { name: 'priorbook', version: VERSION },
    ])
    const namesOf = ({ components }: Bom): string[] =>
      components.map(({ name, version }) => `${name}@${version}`)
    const wanted = (workspace: string): string[] => {
      const path = join(clone, 'packages', workspace, 'package.json')
      const { dependencies } = JSON.parse(readFileSync(path, 'utf8')) as {
        readonly dependencies: Readonly<Record<string, string>>
      }
      return Object.entries(dependencies).map(([name, version]) => `${name}@${version}`)
    }
    expect(namesOf(installed)).toEqual(
      expect.arrayContaining([...wanted('emulator'), ...wanted('service')]),
    )
    expect(namesOf(explorer)).toEqual(expect.arrayContaining(wanted('web')))
    const all = [...namesOf(installed), ...namesOf(explorer)]
    expect(all.filter((name) => /^(?:vitest|oxlint|knip)@/.test(name))).toEqual([])
  })

  it('is published only from a tagged commit, by a builder that can sign', () => {
    const { status, stderr, called } = release([])
    expect([status, called]).toEqual([1, []])
    expect(stderr).toContain(`the commit has no tag v${VERSION}`)
    expect(stderr).toContain('provenance needs a CI that gives identity tokens')
  })

  it('publishes the packages in the order in which they need each other', () => {
    // What was built above is not built again.
    const kept = join(folder, 'kept')
    cpSync(out, kept, { recursive: true })
    writeFileSync(
      join(clone, 'scripts/pack-packages.mjs'),
      `import { cpSync, globSync } from 'node:fs'
for (const file of globSync('*.tgz', { cwd: ${JSON.stringify(kept)} })) {
  cpSync(${JSON.stringify(kept)} + '/' + file, process.argv[3] + '/' + file)
}
`,
    )
    commit('keep what was built')
    git('tag', `v${VERSION}`)
    const { status, stderr, called } = release([], { ACTIONS_ID_TOKEN_REQUEST_URL: 'http://x' })
    expect([status, stderr]).toEqual([0, expect.any(String)])
    const published = called.filter(([command]) => command === 'publish')
    expect(published.map(([, file]) => file!.slice(out.length + 1))).toEqual([
      `priorbook-sdk-${VERSION}.tgz`,
      `priorbook-emulator-${VERSION}.tgz`,
      `priorbook-${VERSION}.tgz`,
    ])
    for (const args of published) {
      expect(args.slice(2)).toEqual(['--provenance', '--access', 'public', '--tag', 'latest'])
    }
  })
})
