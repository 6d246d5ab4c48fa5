// Builds what is published: JavaScript (and declarations where there is something to import) in packages/NAME/dist, a
// package of its own. The workspace itself runs from src, so its package.json cannot be the published one.
//   node scripts/build-package.mjs sdk|emulator|service [--out DIR]
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

// What differs between the packages. `more` adds files that the code reads beside itself.
// The repository brings its own Node, so the workspace of the service asks for none: the published one must.
const PACKAGES = {
  sdk: { name: '@priorbook/sdk', folders: [], more: () => {} },
  emulator: { name: '@priorbook/emulator', folders: [], more: () => {} },
  // The name of the program: it brings the command line of the SDK, the emulator and the explorer.
  service: { name: 'priorbook', folders: ['sample', 'web'], more: addExplorer, node: '>=24.2' },
}

const root = join(import.meta.dirname, '..')
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string' } },
})
const [workspace = ''] = positionals
const { name, folders, more, node } = PACKAGES[workspace] ?? {}
if (name === undefined) {
  const names = Object.keys(PACKAGES).join('|')
  console.error(`usage: node scripts/build-package.mjs ${names} [--out DIR]`)
  process.exit(2)
}
const home = join(root, 'packages', workspace)
const out = values.out ?? join(home, 'dist')
const lib = join(out, 'lib')
const source = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
const engines = node === undefined ? source.engines : { node }

rmSync(out, { recursive: true, force: true })
compile()
more()
writeManifest()
writePrograms()
for (const folder of folders) {
  if (folder !== 'web') cpSync(join(home, folder), join(out, folder), { recursive: true })
}
cpSync(join(home, 'README.md'), join(out, 'README.md'))
cpSync(join(root, 'LICENSE'), join(out, 'LICENSE'))

function compile() {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', join(home, 'tsconfig.build.json'), '--outDir', lib], {
    stdio: 'inherit',
  })
  // Declarations keep the names of the sources; older compilers want those of the modules.
  for (const file of globSync('**/*.d.ts', { cwd: lib })) {
    const path = join(lib, file)
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replaceAll(/(from\s+|import\()(['"])(\.[^'"]+)\.ts\2/g, '$1$2$3.js$2'))
  }
  // The compiler does not follow paths that are given as text.
  for (const file of globSync('**/*.js', { cwd: lib })) {
    const found = /new URL\(\s*['"`][^'"`]*\.ts['"`]/.exec(readFileSync(join(lib, file), 'utf8'))
    if (found !== null && !/endsWith\(['"]\.ts['"]\)/.test(found.input)) {
      throw new Error(`${file} names a source at run time: ${found[0]}`)
    }
  }
}

function writeManifest() {
  const { private: _, scripts: __, devDependencies: ___, ...published } = source
  const manifest = {
    ...published,
    name,
    exports: toExports(),
    files: ['lib', 'bin', ...folders],
    engines,
  }
  const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  if (repository !== undefined) {
    manifest.repository = { ...repository, directory: `packages/${workspace}` }
  }
  writeFileSync(join(out, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
}

function toExports() {
  const toBuilt = (path) => path.replace('./src/', './lib/').replace(/\.ts$/, '.js')
  const toExport = (path) =>
    path.endsWith('.ts')
      ? { types: toBuilt(path).replace(/\.js$/, '.d.ts'), default: toBuilt(path) }
      : path
  const doors = source.exports ?? { './package.json': './package.json' }
  return Object.fromEntries(Object.entries(doors).map(([door, path]) => [door, toExport(path)]))
}

// The programs of the workspace, with the built modules instead of the sources and the scripts of the repository.
function writePrograms() {
  const bin = join(out, 'bin')
  mkdirSync(bin)
  for (const file of readdirSync(join(home, 'bin'))) {
    const text = readFileSync(join(home, 'bin', file), 'utf8')
      .replace("'../../../scripts/check-node.mjs'", "'./check-node.mjs'")
      .replace("'../../../scripts/compile-cache.mjs'", "'./compile-cache.mjs'")
      .replace(/'\.\.\/src\/([^']+)\.ts'/, "'../lib/$1.js'")
    const left = /\.\.\/(?:\.\.|src)\/[^']*/.exec(text)
    if (left !== null) throw new Error(`bin/${file} still names ${left[0]}`)
    writeFileSync(join(bin, file), text)
    chmodSync(join(bin, file), 0o755)
  }
  // Such as [22, 15] of ">=22.15".
  const [major, minor = 0] = engines.node.replace('>=', '').split('.').map(Number)
  writeFileSync(
    join(bin, 'check-node.mjs'),
    `// Older versions of Node must be able to read this file.
const wanted = [${major}, ${minor}]
const found = process.versions.node.split('.').map(Number)
if (found[0] < wanted[0] || (found[0] === wanted[0] && found[1] < wanted[1])) {
  console.error(
    '${name} needs Node ${major}.${minor} or later, this is ' + process.versions.node + ': install it from https://nodejs.org, or beside this package with "npm install node@24" and start the program with npx.',
  )
  process.exit(1)
}
`,
  )
  writeFileSync(
    join(bin, 'compile-cache.mjs'),
    `// Compiled code is kept in the folder for temporary files; processes that this one starts use it too.
import module from 'node:module'

const { directory } = module.enableCompileCache === undefined ? {} : module.enableCompileCache()
if (directory !== undefined) process.env['NODE_COMPILE_CACHE'] ??= directory
`,
  )
}

// The built explorer with the licences of what it contains, and the script of `/docs`.
function addExplorer() {
  execFileSync(process.execPath, [join(root, 'scripts/build-web.mjs')], { stdio: 'inherit' })
  const web = join(root, 'packages/web')
  cpSync(join(web, 'dist'), join(out, 'web/explorer'), { recursive: true })
  const script = readFileSync(join(web, 'src/docs/docs.ts'), 'utf8')
  // The function is called experimental, although Node runs TypeScript with it.
  process.removeAllListeners('warning')
  writeFileSync(join(out, 'web/docs.js'), stripTypeScriptTypes(script))
}
