// Sets the version everywhere and moves the unreleased entries of the changelog under it.
//   npm run release:version -- 0.2.0
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MANIFESTS, OTHERS, read, readJson, ROOT } from './manifests.mjs'

const [version = ''] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(version)) {
  console.error('usage: npm run release:version -- MAJOR.MINOR.PATCH')
  process.exit(2)
}
const write = (file, text) => writeFileSync(join(ROOT, file), text)
const writeJson = (file, value) => write(file, `${JSON.stringify(value, undefined, 2)}\n`)

for (const file of MANIFESTS) writeJson(file, withVersion(readJson(file)))
const lock = readJson('package-lock.json')
lock.version = version
for (const [path, entry] of Object.entries(lock.packages)) {
  if (path !== '' && !path.startsWith('packages/')) continue
  if (entry.version !== undefined) lock.packages[path] = withVersion(entry)
}
writeJson('package-lock.json', lock)
for (const { file, pattern } of OTHERS) {
  write(
    file,
    read(file).replace(pattern, (_, before, __, after) => `${before}${version}${after}`),
  )
}
const today = new Date().toISOString().slice(0, 10)
write(
  'CHANGELOG.md',
  read('CHANGELOG.md').replace(/^## Unreleased$/m, `## Unreleased\n\n## ${version} (${today})`),
)

function withVersion(manifest) {
  const changed = { ...manifest, version }
  for (const [name] of Object.entries(manifest.dependencies ?? {})) {
    if (!name.startsWith('@priorbook/')) continue
    changed.dependencies = { ...changed.dependencies, [name]: version }
  }
  return changed
}
