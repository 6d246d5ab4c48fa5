import type { IncomingMessage } from 'node:http'
import { Problem } from '@priorbook/sdk/wire'

// Every body of the interface is a few members.
const MAX_BODY = 65_536

/** Reads the body of a request as JSON; undefined where the method takes none. */
export async function readJsonBody(request: IncomingMessage, isTaken: boolean): Promise<unknown> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size > (isTaken ? MAX_BODY : 0)) {
      throw new Problem(
        'body_too_large',
        isTaken ? `a body has at most ${MAX_BODY} bytes` : 'the request takes no body',
      )
    }
    parts.push(part)
  }
  if (!isTaken) return undefined
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new Problem('invalid_parameter', 'the body is not declared as JSON', {
      param: 'Content-Type',
      hint: 'Send Content-Type: application/json.',
    })
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts))
    return JSON.parse(text) as unknown
  } catch {
    throw new Problem('invalid_parameter', 'the body is not JSON in UTF-8')
  }
}
