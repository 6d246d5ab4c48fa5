import { hash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { extname, join, relative, sep } from 'node:path'
import { Problem } from '@priorbook/sdk/wire'
import { ALLOW } from '../http/headers.ts'
import { createEncodingChooser } from '../http/negotiate.ts'
import { hasBody, type PendingRequest } from '../http/request.ts'
import { isKnown } from '../http/response-tag.ts'
import { findExplorer } from '../../lib/find-explorer.ts'

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
export function readWebFiles(folder = findExplorer()?.files): WebFiles | undefined {
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

/** The addresses of the explorer: one page serves them all. */
export const EXPLORER_PLACES: readonly string[] = [
  '/',
  '/markets',
  '/market/:venue/*',
  '/events',
  '/event/:venue/*',
  '/contracts',
  '/contracts/:id',
  '/reference',
  '/coverage',
  '/backtest',
  '/alerts',
  '/guides',
  '/guides/:folder/:name',
  '/status',
  '/key',
]

// Scripts, styles, images and requests of this origin only; no inline script.
const EXPLORER_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const FOR_EVER = 'public, max-age=31536000, immutable'
// The page names the newest files, so browsers revalidate it every time and get 304 while it is unchanged.
const REVALIDATE = 'no-cache'

const chooseEncoding = createEncodingChooser(['br', 'gzip', 'identity'])

/** True where a person opens an address outside of the interface in a browser. */
export function isPageLoad({ url = '/', method, headers }: IncomingMessage): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  const wantsPage = headers.accept?.split(',', 1)[0]?.trim() === 'text/html'
  return isRead && wantsPage && headers.authorization === undefined && !url.startsWith('/v3')
}

/** Sends a file of the explorer in the encoding that the browser prefers. */
export function sendWebFile(pending: PendingRequest, file: WebFile, status: 200 | 404): void {
  const { request, method } = pending
  if (hasBody(request)) {
    pending.problem(new Problem('body_too_large', 'the request has a body; no page takes one'))
    return
  }
  if (method === 'OPTIONS') {
    pending.send(204, ['Allow', ALLOW], undefined, 0)
    return
  }
  if (method !== 'GET' && method !== 'HEAD') {
    pending.problem(new Problem('method_not_allowed', `the page does not take ${method}`))
    return
  }
  const wanted = chooseEncoding(request.headers['accept-encoding'] ?? '')
  const compressed = wanted === 'identity' ? undefined : file[wanted]
  const bytes = compressed ?? file.bytes
  const tag = `"${file.tag}${compressed === undefined ? '' : `-${wanted}`}"`
  const headers = ['ETag', tag, 'Cache-Control', file.isHashed ? FOR_EVER : REVALIDATE]
  if (status === 200 && isKnown(request.headers['if-none-match'], tag)) {
    pending.send(304, headers, undefined, 0)
    return
  }
  headers.push('Content-Type', file.contentType, 'Content-Length', String(bytes.length))
  headers.push('Content-Security-Policy', EXPLORER_POLICY)
  if (compressed !== undefined) headers.push('Content-Encoding', wanted)
  pending.send(status, headers, bytes, 0)
}
