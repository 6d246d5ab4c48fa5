import { execFileSync } from 'node:child_process'

/** Runs npm in a folder and gives what it printed. */
export function npm(args, cwd) {
  // Inside `npm run`, npm gives its own path, which may be another npm than the one on PATH.
  const path = process.env['npm_execpath']
  const [command, first] = path === undefined ? ['npm', []] : [process.execPath, [path]]
  return execFileSync(command, [...first, ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1e8,
  })
}
