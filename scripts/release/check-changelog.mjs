import { read, readJson } from './manifests.mjs'

/** What is wrong with the changelog for the version that is released. */
export function checkChangelog() {
  const { version } = readJson('package.json')
  const sections = read('CHANGELOG.md').split(/^## /m).slice(1)
  const entries = (heading) =>
    sections.find((text) => text.startsWith(heading))?.match(/^- /gm)?.length ?? 0
  const problems = []
  if (!sections.some((text) => text.startsWith(`${version} `) || text.startsWith(`${version}\n`))) {
    problems.push(`CHANGELOG.md has no entry "## ${version}"`)
  } else if (entries(version) === 0) {
    problems.push(`CHANGELOG.md lists nothing under "## ${version}"`)
  }
  const unreleased = entries('Unreleased')
  if (unreleased > 0) {
    problems.push(
      `CHANGELOG.md has ${unreleased} entries under "Unreleased": set the next version with "npm run release:version -- VERSION"`,
    )
  }
  return problems
}
