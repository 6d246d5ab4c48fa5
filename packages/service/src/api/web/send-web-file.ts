import { Problem } from '@priorbook/sdk/wire'
import { ALLOW } from '../http/headers.ts'
import { createEncodingChooser } from '../http/negotiate.ts'
import { hasBody, type PendingRequest } from '../http/request.ts'
import { isKnown } from '../http/response.ts'
import type { WebFile } from './web-files.ts'

/** The addresses of the explorer: one page serves them all. */
export const EXPLORER_PLACES: readonly string[] = [
  '/',
  '/markets',
  '/market/:venue/*',
  '/coverage',
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

/** Sends a file of the explorer in the encoding that the browser prefers. */
export function sendWebFile(pending: PendingRequest, file: WebFile): void {
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
  if (isKnown(request.headers['if-none-match'], tag)) {
    pending.send(304, headers, undefined, 0)
    return
  }
  headers.push('Content-Type', file.contentType, 'Content-Length', String(bytes.length))
  headers.push('Content-Security-Policy', EXPLORER_POLICY)
  if (compressed !== undefined) headers.push('Content-Encoding', wanted)
  pending.send(200, headers, bytes, 0)
}
