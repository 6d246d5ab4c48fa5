// Checks, builds and publishes a release. A dry run does everything but publish.
//   npm run release -- --dry-run [--out DIR]
import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { npm } from '../npm.mjs'
import { checkChangelog } from './check-changelog.mjs'
import { checkLicenses, countLicenses } from './check-licenses.mjs'
import { checkTree, git } from './check-tree.mjs'
import { checkVersions } from './check-versions.mjs'
import { readJson, ROOT } from './manifests.mjs'

// In this order: each needs those before it.
const NAMES = ['priorbook-sdk', 'priorbook-emulator', 'priorbook']
const SBOM_OF = [
  'sbom',
  '--sbom-format',
  'cyclonedx',
  '--sbom-type',
  'application',
  '--package-lock-only',
]

const { values } = parseArgs({
  options: { 'dry-run': { type: 'boolean', default: false }, out: { type: 'string' } },
})
const isDry = values['dry-run']
const out = resolve(values.out ?? join(ROOT, 'dist/release'))
const { version, repository } = readJson('package.json')

const problems = [...checkTree(), ...checkVersions(), ...checkChangelog(), ...checkLicenses()]
if (!isDry) problems.push(...checkPublisher())
if (problems.length > 0) {
  console.error(`${version} cannot be released:`)
  for (const problem of problems) console.error(`- ${problem}`)
  process.exit(1)
}
const licenses = countLicenses().map(([license, count]) => `${license} ${count}`)
console.log(
  `${version} of ${git('rev-parse', '--short', 'HEAD')}; licences: ${licenses.join(', ')}`,
)

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const pack = join(ROOT, 'scripts/pack-packages.mjs')
execFileSync(process.execPath, [pack, '--out', out], { stdio: 'inherit' })
writeSboms()
writeSums()
publish()

/** What a real release needs beside a dry run: its tag, and a builder that can sign where it was built. */
function checkPublisher() {
  const missing = []
  if (!git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`)) {
    missing.push(`the commit has no tag v${version}`)
  }
  if (repository === undefined) {
    missing.push('package.json names no repository, which provenance is compared with')
  }
  const { ACTIONS_ID_TOKEN_REQUEST_URL: github, SIGSTORE_ID_TOKEN: gitlab } = process.env
  if (github === undefined && gitlab === undefined) {
    missing.push('provenance needs a CI that gives identity tokens (id-token: write)')
  }
  return missing
}

// Every package that is installed with ours, as npm resolves them today, and those that are part of the explorer. Of the
// whole repository npm would leave out what its tools need, too.
function writeSboms() {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-sbom-'))
  try {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'priorbook', version }))
    const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts']
    npm(['install', '--package-lock-only', ...quiet, ...tarballs()], folder)
    writeSbom('priorbook', SBOM_OF, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  writeSbom('explorer', [...SBOM_OF, '--omit', 'dev', '--workspace', 'packages/web'], ROOT)
}

function writeSbom(name, args, folder) {
  const bom = JSON.parse(npm(args, folder))
  // npm gives folders their own names.
  for (const component of [bom.metadata.component, ...bom.components]) {
    component.name = component['bom-ref'].replace(/@[^@]*$/, '')
  }
  const file = `${name}.cdx.json`
  writeFileSync(join(out, file), `${JSON.stringify(bom, undefined, 2)}\n`)
  console.log(`${file}: CycloneDX ${bom.specVersion}, ${bom.components.length} components`)
}

function tarballs() {
  return NAMES.map((name) => join(out, `${name}-${version}.tgz`))
}

function writeSums() {
  const files = readdirSync(out).toSorted()
  const sums = files.map((file) => `${sha256(join(out, file))}  ${file}`)
  writeFileSync(join(out, 'SHA256SUMS'), `${sums.join('\n')}\n`)
  console.log(sums.join('\n'))
}

function sha256(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

function publish() {
  const tag = version.includes('-') ? 'next' : 'latest'
  for (const file of tarballs()) {
    const args = ['publish', file, '--provenance', '--access', 'public', '--tag', tag]
    if (isDry) console.log(`would run: npm ${args.join(' ')}`)
    else console.log(npm(args, out))
  }
  if (isDry) console.log('dry run: nothing was published')
}
