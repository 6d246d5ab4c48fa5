// Builds what is published as @priorbook/sdk or @priorbook/emulator: JavaScript and declarations in
// packages/NAME/dist, a package of its own. The workspace itself runs from src, so its package.json
// cannot be the published one.
//   node scripts/build-package.mjs sdk|emulator [--out DIR]
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
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'

/** The module with `main` behind the command of each package, from its src. */
const MAINS = { sdk: 'cli/main.js', emulator: 'main.js' }

const root = join(import.meta.dirname, '..')
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string' } },
})
const [name] = positionals
if (MAINS[name] === undefined) {
  console.error(`usage: node scripts/build-package.mjs ${Object.keys(MAINS).join('|')} [--out DIR]`)
  process.exit(2)
}
const home = join(root, 'packages', name)
const out = values.out ?? join(home, 'dist')

rmSync(out, { recursive: true, force: true })
const tsc = join(root, 'node_modules/typescript/bin/tsc')
execFileSync(process.execPath, [tsc, '-p', join(home, 'tsconfig.build.json'), '--outDir', out], {
  stdio: 'inherit',
})

// Declarations keep the names of the sources; older compilers want those of the modules.
for (const file of globSync('**/*.d.ts', { cwd: out })) {
  const path = join(out, file)
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replaceAll(/(from\s+|import\()(['"])(\.[^'"]+)\.ts\2/g, '$1$2$3.js$2'))
}

const {
  private: _,
  scripts: __,
  ...source
} = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
const toBuilt = (path) => path.replace('./src/', './').replace(/\.ts$/, '.js')
const toExport = (path) =>
  path.endsWith('.ts')
    ? { types: toBuilt(path).replace(/\.js$/, '.d.ts'), default: toBuilt(path) }
    : path
const exports = Object.fromEntries(
  Object.entries(source.exports).map(([door, path]) => [door, toExport(path)]),
)
writeFileSync(
  join(out, 'package.json'),
  `${JSON.stringify({ ...source, exports }, undefined, 2)}\n`,
)
const [command] = Object.keys(source.bin)
// Such as [22, 15] of ">=22.15".
const leastNode = source.engines.node.replace('>=', '').split('.').map(Number)
if (leastNode.length === 1) leastNode.push(0)
const bin = join(out, 'bin', basename(Object.values(source.bin)[0]))
mkdirSync(join(out, 'bin'))
writeFileSync(
  bin,
  `#!/usr/bin/env node
// Older versions of Node must be able to read this file: no await outside of a function, no new syntax.
import module from 'node:module'

const wanted = ${JSON.stringify(leastNode)}
const found = process.versions.node.split('.').map(Number)
if (found[0] < wanted[0] || (found[0] === wanted[0] && found[1] < wanted[1])) {
  console.error('${command} needs Node ' + wanted.join('.') + ' or later, this is ' + process.versions.node + '.')
  process.exit(1)
}
if (module.enableCompileCache !== undefined) module.enableCompileCache()
import('../${MAINS[name]}')
  .then(({ main }) => main(process.argv.slice(2)))
  .then((status) => {
    process.exitCode = status
  })
`,
)
chmodSync(bin, 0o755)
cpSync(join(home, 'README.md'), join(out, 'README.md'))
cpSync(join(root, 'LICENSE'), join(out, 'LICENSE'))
