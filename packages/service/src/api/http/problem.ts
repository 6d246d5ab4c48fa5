import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { PriorbookError } from '@priorbook/sdk/domain'
import { Problem, PROBLEMS, problemType } from '@priorbook/sdk/wire'
import { redactKeys } from '../auth/key-text.ts'
import { ALLOW } from './headers.ts'

/** The body of `application/problem+json` (RFC 9457); no key that was sent comes back in it. */
export function toProblemBody(problem: Problem, requestId: string): string {
  const { status, title } = PROBLEMS[problem.code]
  const { param, allowed, hint, plan, limit, retryAfter } = problem.fields
  return redactKeys(
    JSON.stringify({
      type: problemType(problem.code),
      title,
      status,
      detail: problem.message,
      code: problem.code,
      request_id: requestId,
      param,
      allowed,
      hint,
      plan,
      limit,
      retry_after: retryAfter,
    }),
  )
}

/** The problem that an error means to the client; undefined for an unexpected error. */
export function toProblem(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error
  if (error instanceof PriorbookError) {
    switch (error.code) {
      case 'invalid_decimal':
      case 'unrepresentable':
      case 'invalid_time':
      case 'invalid_id':
        return new Problem('invalid_parameter', error.message)
      case 'unknown_market':
        return new Problem('unknown_market', error.message)
      case 'corrupt_chunk':
      case 'corrupt_row':
      case 'corrupt_journal':
      case 'corrupt_database':
      case 'unsupported_format':
      case 'newer_schema':
      case 'store_locked':
      case 'disk_full':
      case 'store_unavailable':
      case 'store_closed':
      case 'objects_unavailable':
      case 'objects_refused':
        return unavailable()
      default:
        return undefined
    }
  }
  return (error as NodeJS.ErrnoException | null)?.code === 'ERR_SQLITE_ERROR'
    ? unavailable()
    : undefined
}

// Details of the store are for the operator's log, not for clients.
function unavailable(): Problem {
  return new Problem('store_unavailable', 'the store could not be read; try again soon', {
    retryAfter: 1,
  })
}

/** A whole HTTP response as text, for sockets without a response object; they close after it. */
export function toProblemResponse(problem: Problem, requestId: string): string {
  const body = toProblemBody(problem, requestId)
  const { status } = PROBLEMS[problem.code]
  const { retryAfter } = problem.fields
  return [
    `HTTP/1.1 ${status} ${problem.code}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${requestId}`,
    ...(status === 401 ? ['WWW-Authenticate: Bearer'] : []),
    ...(status === 405 || status === 501 ? [`Allow: ${ALLOW}`] : []),
    ...(status === 426 ? ['Upgrade: websocket', 'Sec-WebSocket-Version: 13'] : []),
    ...(retryAfter === undefined ? [] : [`Retry-After: ${retryAfter}`]),
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

/** Max length of the address of a request, in characters. */
export const MAX_ADDRESS = 8192

type ParserError = Error & { readonly code?: string; readonly rawPacket?: unknown }

/** Creates a handler of `clientError` events: answers bytes that Node could not parse as a request. */
export function createClientErrorHandler(
  nextRequestId: () => string,
  onRefused: (problem: Problem, requestId: string) => void,
): (error: ParserError, socket: Socket) => void {
  return (error, socket) => {
    const message = (socket as { _httpMessage?: { _headerSent?: boolean } })._httpMessage
    if (error.code === 'ECONNRESET' || !socket.writable || message?._headerSent === true) {
      socket.destroy()
      return
    }
    const problem = toParserProblem(error)
    const requestId = nextRequestId()
    onRefused(problem, requestId)
    socket.end(toProblemResponse(problem, requestId))
    // A client that keeps sending must not keep the socket open.
    setTimeout(() => socket.destroy(), 1000).unref()
  }
}

function toParserProblem(error: ParserError): Problem {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request_timeout', 'the request did not arrive in time')
    case 'HPE_HEADER_OVERFLOW': {
      const packet = error.rawPacket as Buffer | undefined
      const line = packet?.indexOf('\r\n') ?? 0
      const isAddress = line === -1 || line > MAX_ADDRESS
      return isAddress
        ? new Problem('uri_too_long', `the address has more than ${MAX_ADDRESS} characters`)
        : new Problem('headers_too_large', 'the header has more than 16 KB')
    }
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Problem('body_too_large', 'the request has a body that the route does not take')
    case 'HPE_INVALID_METHOD':
      return new Problem('not_implemented', 'the request begins with no method of HTTP')
    default: {
      const words = PARSER_WORDS[error.code ?? ''] ?? 'the request is not HTTP/1.1'
      return new Problem('invalid_parameter', words)
    }
  }
}

// What is wrong with bytes that are no request, by the parser's own codes.
const PARSER_WORDS: Readonly<Record<string, string>> = {
  HPE_INVALID_VERSION: 'the version of HTTP is not 1.0 or 1.1',
  HPE_INVALID_URL: 'the address has a character that no address has',
  HPE_INVALID_CONSTANT: 'the request line is not METHOD ADDRESS HTTP/1.1',
  HPE_INVALID_HEADER_TOKEN: 'a header has a character that no header has',
  HPE_INVALID_CONTENT_LENGTH: 'Content-Length is not one whole number',
  HPE_UNEXPECTED_CONTENT_LENGTH: 'the request has both Content-Length and Transfer-Encoding',
  HPE_INVALID_TRANSFER_ENCODING: 'Transfer-Encoding is not chunked',
  HPE_INVALID_CHUNK_SIZE: 'the length of a chunk of the body is not a hexadecimal number',
  HPE_CR_EXPECTED: 'a line does not end with CR LF',
  HPE_LF_EXPECTED: 'a line does not end with CR LF',
  HPE_STRICT: 'a line does not end with CR LF',
  HPE_INVALID_EOF_STATE: 'the request ends early',
  HPE_CLOSED_CONNECTION: 'bytes follow a request that closes the connection',
}

/** What is wrong with the `Host` of a request; undefined where it has exactly one, or HTTP/1.0 and none. */
export function hostProblem({ rawHeaders, httpVersion }: IncomingMessage): Problem | undefined {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  if (count === 1 || (count === 0 && httpVersion === '1.0')) return undefined
  const words = count === 0 ? 'the request has no Host' : 'the request has more than one Host'
  return new Problem('invalid_parameter', words)
}
