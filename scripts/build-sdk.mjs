// Builds what is published as @priorbook/sdk: packages/sdk/dist, a package of its own. The workspace
// itself runs from src, so its package.json cannot be the published one.
//   node scripts/build-sdk.mjs [--out DIR]
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dirname, '..')
const sdk = join(root, 'packages/sdk')
const { values } = parseArgs({ options: { out: { type: 'string', default: join(sdk, 'dist') } } })
const out = values.out

rmSync(out, { recursive: true, force: true })
execFileSync(
  process.execPath,
  [
    join(root, 'node_modules/typescript/bin/tsc'),
    '-p',
    join(sdk, 'tsconfig.build.json'),
    '--outDir',
    out,
  ],
  { stdio: 'inherit' },
)

// Declarations keep the names of the sources: readers of other versions want those of the modules.
for (const file of globSync('**/*.d.ts', { cwd: out })) {
  const path = join(out, file)
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replaceAll(/(from\s+|import\()(['"])(\.[^'"]+)\.ts\2/g, '$1$2$3.js$2'))
}

const {
  private: _,
  scripts: __,
  ...source
} = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'))
const toBuilt = (path) => path.replace('./src/', './').replace(/\.ts$/, '.js')
const exports = Object.fromEntries(
  Object.entries(source.exports).map(([name, path]) => [
    name,
    { types: toBuilt(path).replace(/\.js$/, '.d.ts'), default: toBuilt(path) },
  ]),
)
const built = { ...source, exports, bin: { priorbook: './bin/priorbook.mjs' } }
writeFileSync(join(out, 'package.json'), `${JSON.stringify(built, null, 2)}\n`)
mkdirSync(join(out, 'bin'))
writeFileSync(
  join(out, 'bin/priorbook.mjs'),
  `#!/usr/bin/env node
import module from 'node:module'

module.enableCompileCache?.()
const { main } = await import('../cli/main.js')
process.exitCode = await main(process.argv.slice(2))
`,
)
chmodSync(join(out, 'bin/priorbook.mjs'), 0o755)
cpSync(join(sdk, 'README.md'), join(out, 'README.md'))
cpSync(join(root, 'LICENSE'), join(out, 'LICENSE'))
