import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** A person with an empty folder and Node, who has never seen the repository. */
export type Stranger = {
  /** The folder with the installed packages. */
  readonly home: string
  /** Another folder, with nothing installed in it or above it. */
  readonly elsewhere: string
  /** Installs packages of a registry, or packed ones by their paths. */
  install(...packages: readonly string[]): void
  /** Runs a program to its end; installed programs by their names, as npx finds them. */
  run(command: string, args: readonly string[], options?: RunOptions): Ended
  /** Starts an installed program. */
  start(command: string, args: readonly string[]): ChildProcess
  /** Removes both folders. */
  leave(): void
}

/** How a program ended. */
type Ended = {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

type RunOptions = {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

/** The packed packages by the names of their files without the version. */
export function packed(...names: readonly string[]): string[] {
  const folder = process.env['PRIORBOOK_TEST_PACKED']!
  const files = readdirSync(folder)
  return names.map((name) => {
    const found = files.find((file) => file.replace(/-\d+\.\d+\.\d+.*\.tgz$/, '') === name)
    if (found === undefined) throw new Error(`${name} is not packed: ${files.join(', ')}`)
    return join(folder, found)
  })
}

/** Makes the folders, outside of the repository. */
export function invite(name: string): Stranger {
  const base = mkdtempSync(join(tmpdir(), `priorbook-${name}-`))
  const [home, elsewhere, bin] = ['home', 'elsewhere', 'bin'].map((part) => join(base, part))
  for (const folder of [home!, elsewhere!, bin!]) mkdirSync(folder)
  symlinkSync(process.execPath, join(bin!, 'node'))
  writeFileSync(join(home!, 'package.json'), '{"name":"stranger","private":true,"type":"module"}')
  const env = strangersEnvironment([join(home!, 'node_modules/.bin'), bin!])
  const run: Stranger['run'] = (command, args, options = {}) => {
    const { status, stdout, stderr, error } = spawnSync(command, args, {
      cwd: options.cwd ?? home,
      env: { ...env, ...options.env },
      encoding: 'utf8',
      maxBuffer: 1e8,
    })
    if (error !== undefined) throw error
    return { status, stdout, stderr }
  }
  return {
    home: home!,
    elsewhere: elsewhere!,
    run,
    install(...packages) {
      const npm = process.env['npm_execpath']
      const [command, first] = npm === undefined ? ['npm', []] : [process.execPath, [npm]]
      const options = ['install', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
      const { status, stdout, stderr } = run(command, [...first, ...options, ...packages])
      if (status !== 0) throw new Error(`npm install failed: ${stdout}${stderr}`)
    },
    start: (command, args) =>
      spawn(command, args, { cwd: home, env, stdio: ['pipe', 'pipe', 'pipe'] }),
    leave: () => rmSync(base, { recursive: true, force: true }),
  }
}

// Nothing that npm, a test runner or the repository put into the environment.
function strangersEnvironment(first: readonly string[]): Record<string, string> {
  const own = /^(?:npm_|NODE_|VITEST|PRIORBOOK_|INIT_CWD$)/i
  const kept = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && (!own.test(entry[0]) || entry[0] === 'NODE_EXTRA_CA_CERTS'),
  )
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((part) => !part.includes(root))
  return {
    ...Object.fromEntries(kept),
    PATH: [...first, ...path].join(delimiter),
    npm_config_update_notifier: 'false',
  }
}
