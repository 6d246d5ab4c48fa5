import type { IncomingMessage, RequestListener } from 'node:http'
import type { TLSSocket } from 'node:tls'
import inject from 'light-my-request'
import { Problem } from '@priorbook/sdk/wire'
import { DATA_POLICY } from '../http/headers.ts'
import type { PendingRequest } from '../http/request.ts'

/** Where the tools for models are. */
export const MCP_PATH = '/mcp'

// A question to a tool is short; what is longer is not one.
const MAX_BODY = 262_144
// A tool may need two requests where a plan allows one a second.
const RETRY = { retries: 2, maxRetryAfterMs: 2_000 }

/**
 * Answers the Model Context Protocol over HTTP, without sessions: any worker answers any request. A tool asks the
 * routes of this service with the key of its caller, so that plans, limits and usage are those of REST.
 */
export function createMcpEndpoint(
  handle: RequestListener,
): (pending: PendingRequest) => Promise<void> {
  return async (pending) => {
    const { request, method } = pending
    if (method !== 'POST') {
      const headers = ['Allow', 'POST', 'Content-Length', '0', 'Cache-Control', 'no-store']
      pending.send(405, headers, undefined, 0)
      return
    }
    const message = parse(await readBody(request))
    if (Array.isArray(message)) {
      throw new Problem('invalid_parameter', 'the body is a list: send one message at a time')
    }
    const gone = new AbortController()
    pending.response.once('close', () => gone.abort())
    // Few services are asked by models, so that the protocol is loaded by the first question.
    const [{ answerMessage }, { createClient }] = await Promise.all([
      import('@priorbook/sdk/mcp'),
      import('@priorbook/sdk/client'),
    ])
    const url = addressOf(request)
    const key = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    const client = createClient({
      url,
      key,
      retries: RETRY,
      fetch: fetchInside(handle, request, gone.signal),
    })
    const headers = Object.entries(request.headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value] satisfies [string, string]] : [],
    )
    const question = new Request(`${url}${MCP_PATH}`, { method, headers })
    await send(pending, await answerMessage({ client }, question, message))
  }
}

async function send(pending: PendingRequest, answer: Response): Promise<void> {
  const body = new Uint8Array(await answer.arrayBuffer())
  const type = answer.headers.get('content-type')
  pending.send(
    answer.status,
    [
      ...(type === null ? [] : ['Content-Type', type]),
      'Content-Length',
      String(body.length),
      'Cache-Control',
      'no-store',
      'Content-Security-Policy',
      DATA_POLICY,
    ],
    body,
    0,
  )
}

// Calls a route in this process, as a request of the same client would.
function fetchInside(
  handle: RequestListener,
  outer: IncomingMessage,
  gone: AbortSignal,
): typeof globalThis.fetch {
  return async (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input)
    // Nobody waits for the answer any more.
    gone.throwIfAborted()
    const headers = Object.fromEntries(new Headers(init?.headers))
    const { remoteAddress } = outer.socket
    const {
      statusCode,
      headers: answered,
      rawPayload,
    } = await inject(handle, {
      method: 'GET',
      signal: gone,
      url: `${pathname}${search}`,
      headers: { ...forwardedOf(outer), ...headers },
      ...(remoteAddress === undefined ? {} : { remoteAddress }),
    })
    const flat = Object.entries(answered).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] satisfies [string, string]],
    )
    const isBodiless = statusCode === 204 || statusCode === 304
    return new Response(isBodiless ? null : new Uint8Array(rawPayload), {
      status: statusCode,
      headers: flat,
    })
  }
}

// The address behind a proxy is told by these.
function forwardedOf({ headers }: IncomingMessage): Record<string, string> {
  const names = ['x-forwarded-for', 'forwarded'] as const
  return Object.fromEntries(
    names.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])),
  )
}

// How the caller reaches this service, for the links that tools give.
function addressOf({ headers, socket }: IncomingMessage): string {
  const scheme = (socket as Partial<TLSSocket>).encrypted === true ? 'https' : 'http'
  const host = /^[\w.:[\]-]+$/.exec(headers.host ?? '')?.[0] ?? '127.0.0.1'
  return `${scheme}://${host}`
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MAX_BODY) {
      throw new Problem('body_too_large', `a question to a tool has at most ${MAX_BODY} bytes`)
    }
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new Problem('invalid_parameter', 'the body is not JSON', {
      hint: 'Send one JSON-RPC message of the Model Context Protocol.',
    })
  }
}
