import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The root of the repository; tests work on a clone. */
export const ROOT = join(import.meta.dirname, '../..')

/** The manifests that carry the version, all in step. */
export const MANIFESTS = [
  'package.json',
  'packages/sdk/package.json',
  'packages/emulator/package.json',
  'packages/service/package.json',
  'packages/web/package.json',
]

/** Other files that carry it: the line before and after the version. */
export const OTHERS = [
  { file: 'packages/python/pyproject.toml', pattern: /^(version = ")([^"]+)(")$/m },
  { file: 'packages/python/src/priorbook/__init__.py', pattern: /^(__version__ = ")([^"]+)(")$/m },
  { file: 'packages/python/src/priorbook/client.py', pattern: /(priorbook-python\/)([^"]+)(")/ },
  { file: 'deploy/helm/priorbook/Chart.yaml', pattern: /^(version: )(\S+)()$/m },
  { file: 'deploy/helm/priorbook/Chart.yaml', pattern: /^(appVersion: ')([^']+)(')$/m },
  { file: 'deploy/Dockerfile', pattern: /(image\.version=")([^"]+)(")/ },
]

/** A file of the repository. */
export function read(file) {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** A file of the repository as JSON. */
export function readJson(file) {
  return JSON.parse(read(file))
}
