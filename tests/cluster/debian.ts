import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Numbers of a user and its group. */
export type Ids = { readonly uid: number; readonly gid: number }

/** Installs packages of Debian where what they bring is missing; the programs are not started. */
export function installPackages(packages: readonly string[], isThere: () => boolean): void {
  if (isThere()) return
  const env = { ...process.env, RUNLEVEL: '1', DEBIAN_FRONTEND: 'noninteractive' }
  const args = ['install', '-y', '--no-install-recommends', ...packages]
  const { status, stderr } = spawnSync('apt-get', args, { encoding: 'utf8', env })
  if (isThere()) return
  throw new Error(`${packages.join(', ')} could not be installed (${status}): ${stderr}`)
}

/** The folder of the programs of the newest PostgreSQL server; undefined where there is none. */
export function findPostgres(): string | undefined {
  try {
    const versions = readdirSync('/usr/lib/postgresql').toSorted((a, b) => Number(b) - Number(a))
    const folders = versions.map((version) => join('/usr/lib/postgresql', version, 'bin'))
    // The client alone has such a folder too.
    return folders.find((folder) => existsSync(join(folder, 'initdb')))
  } catch {
    return undefined
  }
}

/** The user that PostgreSQL runs as; undefined where that is the user of this process. */
export function postgresUser(): Ids | undefined {
  if (process.getuid?.() !== 0) return undefined
  const numberOf = (flag: string): number =>
    Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout)
  return { uid: numberOf('-u'), gid: numberOf('-g') }
}
