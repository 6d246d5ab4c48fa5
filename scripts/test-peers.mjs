// `npm run test:peers`: our files read by programs of others, which were installed before.
import { spawnSync } from 'node:child_process'

const { status } = spawnSync('vitest', ['run', '--project', 'peers', ...process.argv.slice(2)], {
  stdio: 'inherit',
  shell: process.platform === 'win32',
  env: { ...process.env, PRIORBOOK_PEERS: '1' },
})
process.exitCode = status ?? 1
