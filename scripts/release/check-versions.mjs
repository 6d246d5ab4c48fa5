import { MANIFESTS, OTHERS, read, readJson } from './manifests.mjs'

const OWN = /^@priorbook\//

/** Every place that names another version than the root. */
export function checkVersions() {
  const { version } = readJson('package.json')
  const problems = []
  const compare = (where, found) => {
    if (found !== version) problems.push(`${where} has version ${found}, not ${version}`)
  }
  for (const file of MANIFESTS) {
    const manifest = readJson(file)
    compare(file, manifest.version)
    for (const [name, wanted] of Object.entries(manifest.dependencies ?? {})) {
      if (OWN.test(name)) compare(`${file}: ${name}`, wanted)
    }
  }
  for (const { file, pattern } of OTHERS) compare(file, pattern.exec(read(file))?.[2])
  for (const [path, locked] of Object.entries(readJson('package-lock.json').packages)) {
    if (path === '' || path.startsWith('packages/')) {
      if (locked.version !== undefined)
        compare(`package-lock.json: ${path || 'root'}`, locked.version)
    }
  }
  return problems
}
