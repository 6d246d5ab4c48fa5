import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const OLDEST = [3, 10] as const
const QUIET = ['--quiet', '--disable-pip-version-check', '--no-compile']

/** The folder of the Python package. */
export const PYTHON_PACKAGE = join(root, 'packages/python')

/**
 * An environment with the pinned packages and the wheel of this tree; gives the path of its Python. The packages
 * stay installed from run to run, the wheel is always a new one.
 */
export function preparePython(file = 'requirements-test.txt'): string {
  const requirements = join(PYTHON_PACKAGE, file)
  const { program, version } = findPython()
  const name = createHash('sha256').update(readFileSync(requirements)).update(version).digest('hex')
  const folder = join(root, 'node_modules/.cache/priorbook-python', name.slice(0, 16))
  const python = join(folder, 'bin/python')
  const done = join(folder, 'installed')
  if (!existsSync(done)) {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    run(program, ['-m', 'venv', folder])
    run(python, ['-m', 'pip', 'install', ...QUIET, '-r', requirements])
    writeFileSync(done, '')
  }
  installWheel(python)
  return python
}

function findPython(): { readonly program: string; readonly version: string } {
  const newer = [14, 13, 12, 11, 10].map((minor) => `python3.${minor}`)
  for (const program of ['python3', ...newer]) {
    const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
    const [major, minor = 0] = (/(\d+)\.(\d+)/.exec(stdout) ?? []).slice(1).map(Number)
    if (status === 0 && major === OLDEST[0] && minor >= OLDEST[1])
      return { program, version: stdout }
  }
  throw new Error(`there is no Python ${OLDEST.join('.')} or newer`)
}

// What users install: the wheel, not the folder of sources.
function installWheel(python: string): void {
  const scratch = mkdtempSync(join(tmpdir(), 'priorbook-wheel-'))
  try {
    const build = 'import sys, hatchling.build as b; b.build_wheel(sys.argv[1])'
    run(python, ['-c', build, scratch], PYTHON_PACKAGE)
    const wheel = join(
      scratch,
      readdirSync(scratch).find((name) => name.endsWith('.whl'))!,
    )
    run(python, ['-m', 'pip', 'install', ...QUIET, '--no-deps', '--force-reinstall', wheel])
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function run(program: string, args: readonly string[], cwd = root): void {
  execFileSync(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
}

if (import.meta.main) preparePython()
