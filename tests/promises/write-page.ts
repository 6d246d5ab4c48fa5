import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { PROMISES, type Promised } from './promises.ts'

// `npm run promises`: runs the tests behind every promise and writes their results into
// docs/operate/promises.md. `npm run promises -- REPORT.json` uses a report of vitest instead of a run.

const ROOT = join(import.meta.dirname, '../..')
const PAGE = join(ROOT, 'docs/operate/promises.md')

type FileResult = { readonly passed: number; readonly failed: number; readonly seconds: number }

type Report = {
  readonly startTime: number
  readonly testResults: readonly {
    readonly name: string
    readonly startTime: number
    readonly endTime: number
    readonly assertionResults: readonly { readonly status: string }[]
  }[]
}

const [given] = process.argv.slice(2)
const report = given === undefined ? runTests() : readReport(given)
const results = new Map(report.testResults.map((one) => [relative(ROOT, one.name), resultOf(one)]))
writeFileSync(PAGE, pageOf(results, new Date(report.startTime)))
const failed = [...results.values()].reduce((sum, result) => sum + result.failed, 0)
console.log(
  `${PROMISES.length} promises written to ${relative(ROOT, PAGE)}, ${failed} tests failed`,
)
process.exitCode = failed === 0 ? 0 : 1

function runTests(): Report {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-promises-'))
  try {
    const file = join(folder, 'report.json')
    const files = [...new Set(PROMISES.flatMap(({ tests }) => tests))]
    const projects = ['units', 'capture', 'end-to-end', 'ops'].map((name) => `--project=${name}`)
    const output = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
    spawnSync('vitest', ['run', ...projects, ...output, ...files], { cwd: ROOT, stdio: 'inherit' })
    return readReport(file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readReport(file: string): Report {
  return JSON.parse(readFileSync(file, 'utf8')) as Report
}

function resultOf(one: Report['testResults'][number]): FileResult {
  const count = (status: string): number =>
    one.assertionResults.filter((result) => result.status === status).length
  const seconds = Math.max(0, one.endTime - one.startTime) / 1000
  return { passed: count('passed'), failed: count('failed'), seconds }
}

function pageOf(byFile: ReadonlyMap<string, FileResult>, date: Date): string {
  const rows = PROMISES.map((promised) => rowOf(promised, byFile))
  return `# What the service promises, and how it is shown

\`npm run promises\` runs the tests behind every promise and writes this page. The counts are cases that passed
when it was written, on ${date.toISOString().slice(0, 10)}. \`npm run test:full\` runs the same tests with larger counts, and
\`npm run chaos\` runs many of the faults together.

| | promise | shown by | cases | not shown yet |
|---|---|---|---|---|
${rows.join('\n')}
`
}

function rowOf({ id, promise, tests, unshown }: Promised, byFile: ReadonlyMap<string, FileResult>) {
  const links = tests.map((file) => `[${file.split('/').slice(-2).join('/')}](../../${file})`)
  const sums = tests.map((file) => byFile.get(file) ?? { passed: 0, failed: 0, seconds: 0 })
  const passed = sums.reduce((sum, one) => sum + one.passed, 0)
  const failed = sums.reduce((sum, one) => sum + one.failed, 0)
  const cases = failed === 0 ? `${passed}` : `${passed}, **${failed} failed**`
  return `| ${id} | ${promise} | ${links.join(', ')} | ${cases} | ${unshown ?? ''} |`
}
