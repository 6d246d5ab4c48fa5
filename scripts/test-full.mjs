// `npm run test:full`: the test suite with the long counts named in the docs.
import { spawnSync } from 'node:child_process'

const { status } = spawnSync(
  'vitest',
  [
    'run',
    '--project=units',
    '--project=capture',
    '--project=end-to-end',
    '--testTimeout=3600000',
    ...process.argv.slice(2),
  ],
  {
    stdio: 'inherit',
    shell: process.platform === 'win32',
    env: { ...process.env, PRIORBOOK_FULL: '1' },
  },
)
process.exitCode = status ?? 1
