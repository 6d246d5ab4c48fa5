import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPython } from './install-python.ts'

/**
 * Installs the engines of the comparison beside this file unless they are there. They are no
 * workspace of the product: 600 MB that only this benchmark needs. The one install script among
 * them (chdb's, empty) is approved by `allowScripts` in the package.json of this folder.
 */
export function installPeers(): void {
  const folder = dirname(fileURLToPath(import.meta.url))
  const wanted = ['chdb', '@duckdb/node-api'].map((name) => join(folder, 'node_modules', name))
  if (wanted.every((path) => existsSync(path))) return

  // Inside `npm run`, npm tells its own path, which may be another npm than the one on PATH.
  const npm = process.env['npm_execpath']
  const [command, first] = npm === undefined ? ['npm', []] : [process.execPath, [npm]]
  const options = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-save']
  const child = spawnSync(command, [...first, ...options], {
    cwd: folder,
    stdio: ['ignore', process.stderr, process.stderr],
  })
  if (child.status !== 0) throw new Error('npm could not install the peers', { cause: child.error })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  installPeers()
  installPython()
}
