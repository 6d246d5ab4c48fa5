// `npm run test:browser`: the explorer in a real browser; CHROMIUM names another one than Debian's.
import { spawnSync } from 'node:child_process'

const { status } = spawnSync('vitest', ['run', '--project', 'browser', ...process.argv.slice(2)], {
  stdio: 'inherit',
  shell: process.platform === 'win32',
  env: { ...process.env, PRIORBOOK_BROWSER: '1' },
})
process.exitCode = status ?? 1
