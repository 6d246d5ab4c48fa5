// Builds the explorer where its files are missing or older than their sources; else says nothing.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const root = join(import.meta.dirname, '..')
const web = join(root, 'packages/web')
const dist = join(web, 'dist')
const SOURCES = ['packages/web/src', 'packages/web/public', 'packages/sdk/src', 'docs']
const SINGLE = [
  'packages/web/index.html',
  'packages/web/vite.config.ts',
  'packages/web/package.json',
]
const PACKED = /\.(html|js|css|svg|json|txt)$/

const isForced = process.argv.includes('--force')
// `npm start` goes on without the explorer where it cannot be built: the server says how to.
const isOptional = process.argv.includes('--if-possible')

if (isForced || isOld()) {
  const started = performance.now()
  try {
    await build()
    console.log(`built the explorer in ${((performance.now() - started) / 1000).toFixed(1)} s`)
  } catch (error) {
    console.error(`the explorer could not be built: ${error.message}`)
    if (!isOptional) process.exitCode = 1
  }
}

function isOld() {
  const page = join(dist, 'index.html')
  if (!existsSync(page)) return true
  const built = statSync(page).mtimeMs
  const files = [
    ...SOURCES.flatMap((folder) => filesBelow(join(root, folder))),
    ...SINGLE.map((file) => join(root, file)),
  ]
  return files.some((file) => !file.endsWith('.test.ts') && statSync(file).mtimeMs > built)
}

async function build() {
  const vite = await import('vite')
  await vite.build({ root: web, configFile: join(web, 'vite.config.ts'), logLevel: 'warn' })
  for (const file of filesBelow(dist)) {
    if (!PACKED.test(file)) continue
    const bytes = readFileSync(file)
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: 11,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    }
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }))
  }
}

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
