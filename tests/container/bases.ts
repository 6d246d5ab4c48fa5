import { existsSync, mkdirSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Engine } from './engine.ts'
import { must } from './steps.ts'

const RELEASE = 'bookworm'
// Made once: debootstrap takes minutes.
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/priorbook-container')
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

/** The image that the packages are installed into. */
export const RUNTIME = 'localhost/priorbook-base-runtime'
/** The image that builds the packages. */
export const BUILDER = 'localhost/priorbook-base-builder'

/**
 * Base images without a registry of images: one of Debian's packages, and the same with the Node and the npm that run
 * this.
 */
export function makeBases(engine: Engine): void {
  const base = engine.buildah('from', 'scratch')
  const add = (from: string, to: string): string => engine.buildah('add', '--quiet', base, from, to)
  add(debianArchive(), '/')
  engine.buildah('commit', '--quiet', base, RUNTIME)
  const npm = process.env['npm_execpath'] ?? must('sh', ['-c', 'command -v npm']).trim()
  add(process.execPath, '/usr/local/bin/node')
  add(dirname(dirname(realpathSync(npm))), '/usr/local/lib/node_modules/npm')
  add(CERTIFICATES, CERTIFICATES)
  const link = ['ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', '/usr/local/bin/npm']
  engine.buildah('run', '--isolation', 'chroot', base, '--', ...link)
  engine.buildah('config', '--env', `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`, base)
  engine.buildah('commit', '--quiet', base, BUILDER)
  engine.buildah('rm', base)
}

function debianArchive(): string {
  const archive = join(CACHE, `${RELEASE}.tar`)
  if (existsSync(archive)) return archive
  mkdirSync(CACHE, { recursive: true })
  const root = join(CACHE, RELEASE)
  rmSync(root, { recursive: true, force: true })
  must('debootstrap', ['--variant=minbase', RELEASE, root])
  // As in the slim images: no documentation, no translations, no lists of packages.
  for (const part of ['usr/share/doc', 'usr/share/man', 'usr/share/locale', 'usr/share/info']) {
    rmSync(join(root, part), { recursive: true, force: true })
  }
  for (const part of ['var/cache/apt', 'var/lib/apt/lists', 'var/log']) {
    rmSync(join(root, part), { recursive: true, force: true })
    mkdirSync(join(root, part), { recursive: true })
  }
  must('tar', ['--create', '--file', `${archive}.part`, '--directory', root, '.'])
  rmSync(root, { recursive: true })
  renameSync(`${archive}.part`, archive)
  return archive
}
