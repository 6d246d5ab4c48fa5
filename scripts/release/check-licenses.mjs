import { readJson } from './manifests.mjs'

// What may be installed with the packages or be part of the explorer: permissive licences.
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
])
// Beside those, for tools that are not given to anybody.
const ALLOWED_TOOLS = new Set(['CC-BY-4.0', 'MPL-2.0', 'Python-2.0', 'Unlicense'])

/** Every dependency of the lock file, direct or not, whose licence is not on the list. */
export function checkLicenses(packages = readJson('package-lock.json').packages) {
  const problems = []
  for (const [path, { license, link, dev, devOptional }] of Object.entries(packages)) {
    if (link === true || !path.includes('node_modules/')) continue
    const isTool = dev === true || devOptional === true
    if (ALLOWED.has(license) || (isTool && ALLOWED_TOOLS.has(license))) continue
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    problems.push(`${name} has the licence ${license ?? '(none)'}, which is not on the list`)
  }
  return problems
}

/** How many dependencies there are of each licence. */
export function countLicenses(packages = readJson('package-lock.json').packages) {
  const counts = new Map()
  for (const [path, { license, link }] of Object.entries(packages)) {
    if (link === true || !path.includes('node_modules/')) continue
    counts.set(license, (counts.get(license) ?? 0) + 1)
  }
  return [...counts].toSorted((left, right) => right[1] - left[1])
}
