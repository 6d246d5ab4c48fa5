import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { Skipped, type Steps } from './steps.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy')
// What the files ask for.
const SECRETS = {
  DATABASE_ADMIN_PASSWORD: 'x',
  DATABASE_PASSWORD: 'x',
  OBJECTS_KEY: 'x',
  OBJECTS_SECRET: 'x',
}

/** The compose files, read by compose itself; nothing is started. */
export async function tryCompose(steps: Steps): Promise<void> {
  for (const name of ['compose.yaml', 'compose.single.yaml']) {
    await steps.try(`docker compose config of ${name}`, () => {
      if (spawnSync('docker', ['compose', 'version']).status !== 0) {
        throw new Skipped('docker with its plugin compose is not installed')
      }
      const args = ['compose', '--file', join(DEPLOY, name), 'config', '--quiet']
      const { status, stderr } = spawnSync('docker', args, {
        encoding: 'utf8',
        env: { ...process.env, ...SECRETS },
      })
      if (status !== 0 || stderr !== '') throw new Error(stderr)
    })
  }
}
