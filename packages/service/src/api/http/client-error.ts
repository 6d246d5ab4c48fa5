import type { Socket } from 'node:net'
import { Problem } from '@priorbook/sdk/wire'
import { toProblemResponse } from './problem-response.ts'

const MAX_ADDRESS = 8192

type ParserError = Error & { readonly code?: string; readonly rawPacket?: unknown }

/** Answers what Node's parser refused: the request never became one, so the bytes are written here. */
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
    const problem = toProblem(error)
    const requestId = nextRequestId()
    onRefused(problem, requestId)
    socket.end(toProblemResponse(problem, requestId))
    // A client that goes on sending must not keep the socket.
    setTimeout(() => socket.destroy(), 1000).unref()
  }
}

function toProblem(error: ParserError): Problem {
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
      return new Problem('body_too_large', 'no route takes a body')
    case 'HPE_INVALID_METHOD':
      return new Problem('method_not_allowed', 'the request names no HTTP method')
    default:
      return new Problem('invalid_parameter', 'the request is not HTTP/1.1')
  }
}
