import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Micros } from '@priorbook/sdk/domain'
import { PROBLEMS, type PageBuffer, type Problem } from '@priorbook/sdk/wire'
import type { PlanGrant } from '../auth/grant.ts'
import { givePage } from './pages.ts'
import { ALLOW, DATA_POLICY } from './headers.ts'
import { toProblemBody } from './problem-body.ts'

// Node writes head and body at once where the body is text: a tenth of the time of a small answer.
const SMALL = 8192

/** What a finished exchange tells the log and the usage. */
export type Outcome = {
  readonly exchange: Exchange
  readonly status: number
  readonly bytes: number
  readonly rows: number
}

/** Who wants to know of finished exchanges. */
export type OnFinished = (outcome: Outcome) => void

/** A request as Node gives it; `verb` is its method where that is not GET. */
export type VerbedRequest = IncomingMessage & { verb?: string }

/** One request and its answer, from the door to the log. */
export class Exchange {
  readonly request: VerbedRequest
  readonly response: ServerResponse
  readonly id: string
  readonly startedMs: number
  readonly #common: readonly string[]
  readonly #onFinished: OnFinished
  /** The id of the route, once it is known; never the address, which may hold anything. */
  routeId = 'none'
  grant: PlanGrant | undefined
  /** More headers of whatever answer follows. */
  headers: string[] = []
  now: Micros = 0 as Micros

  constructor(
    request: VerbedRequest,
    response: ServerResponse,
    id: string,
    common: readonly string[],
    onFinished: OnFinished,
  ) {
    this.request = request
    this.response = response
    this.id = id
    this.startedMs = performance.now()
    this.#common = common
    this.#onFinished = onFinished
  }

  get verb(): string {
    return this.request.verb ?? 'GET'
  }

  /** Sends the head; the list is flat. */
  head(status: number, headers: readonly string[]): void {
    this.response.writeHead(status, [
      ...this.#common,
      'X-Request-Id',
      this.id,
      ...this.headers,
      ...headers,
    ])
  }

  /** Sends an answer that is whole; the page that it lies in is given back when it is sent. */
  send(
    status: number,
    headers: readonly string[],
    body: Uint8Array | undefined,
    rows: number,
    page?: PageBuffer,
  ): void {
    const { response } = this
    if (response.destroyed || response.headersSent) {
      if (page !== undefined) givePage(page)
      return
    }
    this.head(status, headers)
    const sent = this.verb === 'HEAD' ? undefined : body
    if (sent !== undefined && sent.length <= SMALL) {
      response.end(toLatin1(sent), 'latin1')
      if (page !== undefined) givePage(page)
    } else {
      if (page !== undefined) response.once('close', () => givePage(page))
      response.end(sent)
    }
    this.finished(status, sent?.length ?? 0, rows)
  }

  problem(problem: Problem): void {
    const { status } = PROBLEMS[problem.code]
    const body = Buffer.from(toProblemBody(problem, this.id))
    const headers = ['Content-Type', 'application/problem+json', 'Content-Length']
    headers.push(String(body.length), 'Cache-Control', 'no-store')
    headers.push('Content-Security-Policy', DATA_POLICY)
    const { retryAfter } = problem.fields
    if (retryAfter !== undefined) headers.push('Retry-After', String(retryAfter))
    if (status === 401) headers.push('WWW-Authenticate', 'Bearer realm="priorbook"')
    if (status === 405) headers.push('Allow', ALLOW)
    // Whatever else the client sends on a connection whose body nobody reads is not a request.
    if (status === 413 || hasBody(this.request)) headers.push('Connection', 'close')
    this.send(status, headers, body, 0)
  }

  finished(status: number, bytes: number, rows: number): void {
    this.#onFinished({ exchange: this, status, bytes, rows })
  }
}

// Bytes as letters, one each, as which Node writes them again.
function toLatin1({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1')
}

/** True when the request brings a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined
}
