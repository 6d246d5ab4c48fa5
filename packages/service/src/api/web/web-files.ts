import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join, relative, sep } from 'node:path'

/** One file of the explorer as it is sent, with its packed forms. */
export type WebFile = {
  readonly contentType: string
  readonly bytes: Buffer
  readonly br: Buffer | undefined
  readonly gzip: Buffer | undefined
  /** Differs with every change of the content. */
  readonly tag: string
  /** True for names that hold a hash of their content: they can be kept for ever. */
  readonly isHashed: boolean
}

/** The built explorer: its files by address, and the page that all its places share. */
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
const PACKED = new Set(['.br', '.gz'])

/** Reads the explorer into memory (it is small); undefined where it has not been built. */
export function readWebFiles(folder = builtFolder()): WebFiles | undefined {
  if (folder === undefined || !existsSync(join(folder, 'index.html'))) return undefined
  const files = new Map<string, WebFile>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const type = TYPES[extname(entry.name)]
    if (!entry.isFile() || PACKED.has(extname(entry.name)) || type === undefined) continue
    const path = join(entry.parentPath, entry.name)
    const address = `/${relative(folder, path).split(sep).join('/')}`
    const bytes = readFileSync(path)
    files.set(address, {
      contentType: type,
      bytes,
      br: readIfThere(`${path}.br`),
      gzip: readIfThere(`${path}.gz`),
      tag: createHash('sha256').update(bytes).digest('base64url').slice(0, 22),
      isHashed: address.startsWith('/assets/'),
    })
  }
  const page = files.get('/index.html')!
  files.delete('/index.html')
  return { page, files }
}

function readIfThere(path: string): Buffer | undefined {
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
