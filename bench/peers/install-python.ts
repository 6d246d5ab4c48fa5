import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// Versions that are known to work together.
const PACKAGES = [
  'duckdb==2.0.0',
  'hftbacktest==2.4.4',
  'nautilus_trader==1.221.0',
  'numpy==2.2.6',
  'pandas==2.3.3',
  'polars==2.1.0',
  'pyarrow==26.0.1',
  'pyiceberg==0.12.0',
]

const FOLDER = join(import.meta.dirname, 'node_modules/.cache/python')
// Written last, so that an interrupted installation is begun again.
const DONE = join(FOLDER, 'installed.txt')

/** The Python that has the packages; undefined where they are not installed. */
export function pythonOfPeers(): string | undefined {
  return isInstalled() ? join(FOLDER, 'bin/python') : undefined
}

/**
 * Installs other people's Python programs beside this file unless they are there: 1.3 GB, which only tests need.
 * Without a Python nothing is installed, and the tests that need it say so.
 */
export function installPython(): void {
  if (isInstalled()) return
  if (spawnSync('python3', ['--version']).status !== 0) {
    process.stderr.write('there is no python3: tests with Python programs are skipped\n')
    return
  }
  rmSync(FOLDER, { recursive: true, force: true })
  run('python3', ['-m', 'venv', FOLDER])
  const options = ['--quiet', '--disable-pip-version-check', '--no-compile']
  run(join(FOLDER, 'bin/python'), ['-m', 'pip', 'install', ...options, ...PACKAGES])
  writeFileSync(DONE, PACKAGES.join('\n'))
}

function isInstalled(): boolean {
  return existsSync(DONE) && readFileSync(DONE, 'utf8') === PACKAGES.join('\n')
}

function run(command: string, args: readonly string[]): void {
  const stdio = ['ignore', process.stderr, process.stderr] as const
  const child = spawnSync(command, args, { stdio: [...stdio] })
  if (child.status === 0) return
  throw new Error(`${command} ${args.join(' ')} failed`, { cause: child.error })
}
