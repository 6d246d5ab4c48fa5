import { Problem } from '@priorbook/sdk/wire'
import { hasBody, type Exchange } from '../http/exchange.ts'
import { ALLOW } from '../http/headers.ts'
import type { WebFile } from './web-files.ts'

/** Only what this service serves itself may run, look or talk; nothing is written into the page. */
export const EXPLORER_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const FOR_EVER = 'public, max-age=31536000, immutable'
// The page names the newest files: it is asked for every time, and answered with 304 while it holds.
const ASK_AGAIN = 'no-cache'

/** Sends a file of the explorer, packed as the browser likes it best. */
export function sendWebFile(exchange: Exchange, file: WebFile): void {
  const { request, verb } = exchange
  if (hasBody(request)) {
    exchange.problem(new Problem('body_too_large', 'the request has a body; no page takes one'))
    return
  }
  if (verb === 'OPTIONS') {
    exchange.send(204, ['Allow', ALLOW], undefined, 0)
    return
  }
  if (verb !== 'GET' && verb !== 'HEAD') {
    exchange.problem(new Problem('method_not_allowed', `the page takes no ${verb}`))
    return
  }
  const { encoding, bytes } = chooseForm(request.headers['accept-encoding'], file)
  const tag = `"${file.tag}${encoding === undefined ? '' : `-${encoding}`}"`
  const headers = ['ETag', tag, 'Cache-Control', file.isHashed ? FOR_EVER : ASK_AGAIN]
  const known = request.headers['if-none-match']
  if (known?.split(',').some((one) => one.trim().replace(/^W\//, '') === tag) === true) {
    exchange.send(304, headers, undefined, 0)
    return
  }
  headers.push('Content-Type', file.contentType, 'Content-Length', String(bytes.length))
  headers.push('Content-Security-Policy', EXPLORER_POLICY)
  if (encoding !== undefined) headers.push('Content-Encoding', encoding)
  exchange.send(200, headers, bytes, 0)
}

function chooseForm(
  accepted: string | undefined,
  { bytes, br, gzip }: WebFile,
): { readonly encoding: 'br' | 'gzip' | undefined; readonly bytes: Buffer } {
  const takes = (name: string): boolean =>
    (accepted ?? '')
      .split(',')
      .some((part) => new RegExp(`^\\s*${name}\\s*(;(?!\\s*q=0(\\.0+)?\\s*$)|$)`, 'i').test(part))
  if (br !== undefined && takes('br')) return { encoding: 'br', bytes: br }
  if (gzip !== undefined && takes('gzip')) return { encoding: 'gzip', bytes: gzip }
  return { encoding: undefined, bytes }
}
