import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join, relative, sep } from 'node:path'

/** One file of the explorer, with its compressed forms. */
export type WebFile = {
  readonly contentType: string
  readonly bytes: Buffer
  readonly br: Buffer | undefined
  readonly gzip: Buffer | undefined
  /** Differs with every change of the content. */
  readonly tag: string
  /** True where the name contains a hash of the content, so that it can be cached for ever. */
  readonly isHashed: boolean
}

/** The built explorer: its page, and its other files by address. */
export type WebFiles = {
  readonly page: WebFile
  readonly files: ReadonlyMap<string, WebFile>
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.txt': 'text/plain; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.woff2': 'font/woff2',
}
const COMPRESSED = new Set(['.br', '.gz'])

/** Reads the explorer into memory; undefined where it has not been built. */
export function readWebFiles(folder = builtFolder()): WebFiles | undefined {
  if (folder === undefined || !existsSync(join(folder, 'index.html'))) return undefined
  const files = new Map<string, WebFile>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const type = TYPES[extname(entry.name)]
    if (!entry.isFile() || COMPRESSED.has(extname(entry.name)) || type === undefined) continue
    const path = join(entry.parentPath, entry.name)
    const address = `/${relative(folder, path).split(sep).join('/')}`
    const bytes = readFileSync(path)
    files.set(address, {
      contentType: type,
      bytes,
      br: readIfPresent(`${path}.br`),
      gzip: readIfPresent(`${path}.gz`),
      tag: hash('sha256', bytes, 'base64url').slice(0, 22),
      isHashed: address.startsWith('/assets/'),
    })
  }
  const page = files.get('/index.html')!
  files.delete('/index.html')
  return { page, files }
}

function readIfPresent(path: string): Buffer | undefined {
  return existsSync(path) ? readFileSync(path) : undefined
}

function builtFolder(): string | undefined {
  try {
    const { resolve } = createRequire(import.meta.url)
    return join(dirname(resolve('@priorbook/web/package.json')), 'dist')
  } catch {
    // A service that was installed without the explorer.
    return undefined
  }
}
