import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** Other people's programs, installed into a temporary folder. */
export type Installed = {
  readonly folder: string
  /** Runs a program in the folder, with the installed Python programs first on PATH. */
  readonly run: (command: string, args: readonly string[], input?: string) => Promise<Ended>
  /** The path of an installed Python program. */
  readonly python: (program: string) => string
  readonly remove: () => void
}

/** How a program ended, with everything that it printed. */
type Ended = { readonly code: number | null; readonly text: string }

/** Packages in versions that are known to work. */
export type Wanted = {
  readonly pip: readonly string[]
  readonly npm: readonly string[]
  /** Versions of packages that others ask for, such as `{ viem: '2.46.3' }`. */
  readonly npmOverrides?: Readonly<Record<string, string>>
  /** The oldest Python that the packages support, such as `3.13`; any Python 3 by default. */
  readonly python?: string
}

/** Max time of one program, an installation included. */
const MAX_RUN_MS = 240_000

/** Installs packages from their registries. Both programs keep downloads in their own caches. */
export async function install(wanted: Wanted): Promise<Installed> {
  const folder = mkdtempSync(join(tmpdir(), 'priorbook-clients-'))
  const python = (program: string): string => join(folder, 'venv/bin', program)
  const path = [join(folder, 'venv/bin'), process.env['PATH']].join(delimiter)
  const run: Installed['run'] = (command, args, input = '') =>
    runIn(folder, { ...process.env, PATH: path }, command, args, input)
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  const mustRun = async (command: string, args: readonly string[]): Promise<void> => {
    const { code, text } = await run(command, args)
    if (code !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${text}`)
  }

  const installPython = async (): Promise<void> => {
    if (wanted.pip.length === 0) return
    const base = findPython(wanted.python ?? '3.0')
    await mustRun(base, ['-m', 'venv', '--without-pip', 'venv'])
    // Without compiling: only a small part of what is installed is ever imported.
    const options = ['--quiet', '--disable-pip-version-check', '--no-compile']
    const pip = ['-m', 'pip', '--python', python('python')]
    await mustRun(base, [...pip, 'install', ...options, ...wanted.pip])
  }
  const installNpm = async (): Promise<void> => {
    const { npmOverrides: overrides = {} } = wanted
    const manifest = { private: true, type: 'module', overrides }
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
    // Inside `npm run`, npm gives its own path, which may be another npm than the one on PATH.
    const npm = process.env['npm_execpath']
    const [command, first] = npm === undefined ? ['npm', []] : [process.execPath, [npm]]
    const options = ['install', '--no-audit', '--no-fund', '--ignore-scripts']
    await mustRun(command, [...first, ...options, ...wanted.npm])
  }

  try {
    await Promise.all([installPython(), installNpm()])
  } catch (error) {
    remove()
    throw error
  }
  return { folder, run, python, remove }
}

/** A Python that is new enough: the usual one, one named by its version, or one that pyenv keeps beside it. */
function findPython(oldest: string): string {
  const root = output('pyenv', ['root']) ?? ''
  const kept = output('pyenv', ['versions', '--bare'])?.split('\n') ?? []
  const programs = [
    'python3',
    'python3.13',
    'python3.14',
    ...kept.map((version) => join(root, 'versions', version, 'bin/python3')),
  ]
  const probe = 'import sys; print("%d.%d" % sys.version_info[:2], sys.executable)'
  for (const program of programs) {
    // The path, because the name means the virtual environment's own Python once there is one.
    const [version, path] = output(program, ['-c', probe])?.split(' ') ?? []
    if (path !== undefined && minorOf(version!) >= minorOf(oldest)) return path
  }
  throw new Error(`there is no Python ${oldest} or newer`)
}

const minorOf = (version: string): number => Number(version.split('.')[1])

function output(command: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync(command, args, { stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim()
  } catch {
    return undefined
  }
}

function runIn(
  cwd: string,
  env: NodeJS.ProcessEnv,
  command: string,
  args: readonly string[],
  input: string,
): Promise<Ended> {
  // A socket that stays silent must not keep its client, and with it the test, forever.
  const child = spawn(command, args, { cwd, env, timeout: MAX_RUN_MS })
  let text = ''
  child.stdout.on('data', (bytes) => (text += String(bytes)))
  child.stderr.on('data', (bytes) => (text += String(bytes)))
  child.stdin.end(input)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, text }))
  })
}
