// Builds the published packages and packs them, as `npm publish` would send them.
//   node scripts/pack-packages.mjs --out DIR
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { npm } from './npm.mjs'

const WORKSPACES = ['sdk', 'emulator', 'service']

const { values } = parseArgs({ options: { out: { type: 'string' } } })
if (values.out === undefined) {
  console.error('usage: node scripts/pack-packages.mjs --out DIR')
  process.exit(2)
}
const out = resolve(values.out)
mkdirSync(out, { recursive: true })
const scratch = mkdtempSync(join(tmpdir(), 'priorbook-build-'))
try {
  for (const workspace of WORKSPACES) {
    const built = join(scratch, workspace)
    const script = join(import.meta.dirname, 'build-package.mjs')
    execFileSync(process.execPath, [script, workspace, '--out', built], { stdio: 'inherit' })
    const [packed] = JSON.parse(
      npm(['pack', '--json', '--ignore-scripts', '--pack-destination', out], built),
    )
    const { filename, size, unpackedSize, entryCount } = packed
    const kb = (bytes) => `${Math.round(bytes / 1000).toLocaleString('en-US')} kB`
    console.log(`${filename}: ${kb(size)}, ${entryCount} files of ${kb(unpackedSize)}`)
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
