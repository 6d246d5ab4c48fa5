import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { preparePython, PYTHON_PACKAGE } from './environment.ts'

// Tests of the Python package: installs its wheel into an environment of its own, serves emulated and recorded
// data, and runs ruff, mypy and pytest. `npm run test:python -- tests/test_tape.py` runs one file.

const root = join(import.meta.dirname, '../..')
const started = Date.now()
const scratch = mkdtempSync(join(tmpdir(), 'priorbook-python-'))
let failed = 0
try {
  const python = preparePython()
  failed += check(python, 'ruff', ['check', '--no-cache', '.'])
  failed += check(python, 'ruff', ['format', '--no-cache', '--check', '.'])
  failed += check(python, 'mypy', [`--cache-dir=${join(scratch, 'mypy')}`])
  failed += await withServers((served) => runTests(python, served))
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
process.exitCode = failed === 0 ? 0 : 1

function check(python: string, tool: string, args: readonly string[]): number {
  const { status } = spawnSync(python, ['-m', tool, ...args], {
    cwd: PYTHON_PACKAGE,
    stdio: 'inherit',
  })
  if (status !== 0) console.log(`${tool} ${args[0]} FAILED`)
  return status === 0 ? 0 : 1
}

async function withServers(use: (served: string) => Promise<number>): Promise<number> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'serve.ts')], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  try {
    const served = await new Promise<string>((resolve, reject) => {
      let text = ''
      child.stdout.on('data', (bytes) => {
        text += String(bytes)
        if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')))
      })
      child.once('close', () => reject(new Error('the servers ended as they started')))
    })
    return await use(served)
  } finally {
    child.stdin.end()
    await ended
  }
}

// The closing lines are those of the other suites, so that one script counts them all.
async function runTests(python: string, served: string): Promise<number> {
  const tools = process.env['PRIORBOOK_FULL'] === '1' ? 'requirements-hftbacktest.txt' : undefined
  const env = {
    ...process.env,
    // It needs an older numpy than the tests.
    ...(tools === undefined ? {} : { PRIORBOOK_HFT_PYTHON: preparePython(tools) }),
    PRIORBOOK_SERVED: served,
    PRIORBOOK_ROOT: root,
    PRIORBOOK_NODE: process.execPath,
    PYTHONDONTWRITEBYTECODE: '1',
    // pytest keeps the folders of its last three runs, and examples make some of their own.
    TMPDIR: scratch,
  }
  const child = spawn(python, ['-m', 'pytest', ...process.argv.slice(2)], {
    cwd: PYTHON_PACKAGE,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (bytes) => {
    process.stdout.write(bytes)
    text = (text + String(bytes)).slice(-10_000)
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  const count = (word: string): number => Number(new RegExp(`(\\d+) ${word}`).exec(text)?.[1] ?? 0)
  const bad = count('failed') + count('errors?') + failed
  const failures = bad === 0 ? '' : `${bad} failed | `
  const skipped = count('skipped') === 0 ? '' : ` | ${count('skipped')} skipped`
  const seconds = ((Date.now() - started) / 1000).toFixed(2)
  console.log(`\n      Tests  ${failures}${count('passed')} passed${skipped}`)
  console.log(`   Duration  ${seconds}s`)
  return code === 0 ? 0 : 1
}
