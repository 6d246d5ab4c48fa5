import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Micros } from '@priorbook/sdk/domain'
import { PROBLEMS, PageBuffer, type ParamTable, type Problem } from '@priorbook/sdk/wire'
import type { RequestSpan } from '../../lib/tracing.ts'
import type { PlanGrant } from '../auth/grant.ts'
import type { ApiContext, Format, Grant, Route, RouteRequest } from '../route.ts'
import { ALLOW, DATA_POLICY } from './headers.ts'
import type { FormatChooser } from './negotiate.ts'
import { toProblemBody } from './problem.ts'
import type { ParamReader, Values } from './read-params.ts'

// Node sends head and body in one write when the body is a string, which saves a tenth of the time of a
// small answer.
const MAX_STRING_BYTES = 8192

/** A route at its address: with the store it reads and, where it needs no key, the grant of everyone. */
export type MountedRoute = {
  readonly route: Route
  readonly context: ApiContext
  /** Headers of every answer of the route, as a flat list. */
  readonly headers: readonly string[]
  /** The methods that the route takes. */
  readonly allow: string
  readonly reader: ParamReader
  readonly chooseFormat: FormatChooser
  readonly keyless: PlanGrant | undefined
}

/** What the address of a request names. */
export type Target = {
  /** Undefined where the address names no route. */
  readonly mounted: MountedRoute | undefined
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: string
  /** Why there is no route, instead of `unknown_route`. */
  readonly refusal?: Problem | undefined
  /** True where an unknown address is answered without a key. */
  readonly isOpen?: boolean | undefined
  /** Answers every method by itself, once the key is checked. */
  readonly answer?: OwnAnswer | undefined
}

/** An address that is not a route: it answers every method, and its requests count apart from those of the plan. */
export type OwnAnswer = {
  /** Its name in the log and in the counts. */
  readonly name: string
  /** How often a key may call it. */
  readonly limits: PlanGrant
  readonly run: (pending: PendingRequest) => Promise<void>
}

/** How a request ended, for the log and the usage. */
type Outcome = {
  readonly pending: PendingRequest
  readonly status: number
  readonly bytes: number
  readonly rows: number
}

/** Called once for every finished request. */
export type OnFinished = (outcome: Outcome) => void

/** One request and its response, from its arrival until the response is sent. */
export class PendingRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly id: string
  readonly startedMs = performance.now()
  /** The id of the route, once it is known; never the address, which may hold a key. */
  routeId = 'none'
  grant: PlanGrant | undefined
  /** Throws where the key of a download has ended since it was checked; absent without a key. */
  recheck: (() => void) | undefined
  /** Absent where nothing is traced. */
  span: RequestSpan | undefined
  /** The methods that the address takes. */
  allow: string = ALLOW
  /** More headers for the response, as a flat list of names and values. */
  headers: string[] = []
  now: Micros = 0 as Micros
  readonly #common: readonly string[]
  readonly #onFinished: OnFinished
  #pages: PageBuffer[] | undefined
  #isSendingPage = false

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    id: string,
    common: readonly string[],
    onFinished: OnFinished,
  ) {
    this.request = request
    this.response = response
    this.id = id
    this.#common = common
    this.#onFinished = onFinished
  }

  get method(): string {
    return this.request.method ?? ''
  }

  /** Leases a page from the pool until `releasePages`. */
  leasePage(before = 0): PageBuffer {
    const page = PAGES.acquire(before)
    this.#pages ??= []
    this.#pages.push(page)
    return page
  }

  /**
   * Gives all leased pages back: at once, or after the socket has taken the bytes of a page. This is the
   * only place where pages are released; the dispatcher calls it once, however the request ended.
   */
  releasePages(): void {
    const pages = this.#pages
    if (pages === undefined) return
    this.#pages = undefined
    if (this.#isSendingPage && !this.response.closed) {
      this.response.once('close', () => PAGES.release(pages))
    } else PAGES.release(pages)
  }

  /** Sends the head. */
  head(status: number, headers: readonly string[]): void {
    this.response.writeHead(status, [
      ...this.#common,
      'X-Request-Id',
      this.id,
      ...this.headers,
      ...headers,
    ])
  }

  /** Sends a whole response. */
  send(
    status: number,
    headers: readonly string[],
    body: Uint8Array | undefined,
    rows: number,
  ): void {
    const { response } = this
    if (response.destroyed || response.headersSent) return
    this.head(status, headers)
    const sent = this.method === 'HEAD' ? undefined : body
    if (sent !== undefined && sent.length <= MAX_STRING_BYTES) {
      response.end(toLatin1(sent), 'latin1')
    } else {
      this.#isSendingPage = this.#pages?.some(({ bytes }) => bytes.buffer === sent?.buffer) === true
      response.end(sent)
    }
    this.finished(status, sent?.length ?? 0, rows)
  }

  /** Sends an error. */
  problem(problem: Problem): void {
    const { status } = PROBLEMS[problem.code]
    const body = Buffer.from(toProblemBody(problem, this.id))
    const headers = ['Content-Type', 'application/problem+json', 'Content-Length']
    headers.push(String(body.length), 'Cache-Control', 'no-store')
    headers.push('Content-Security-Policy', DATA_POLICY)
    const { retryAfter } = problem.fields
    if (retryAfter !== undefined) headers.push('Retry-After', String(retryAfter))
    if (status === 401) headers.push('WWW-Authenticate', 'Bearer realm="priorbook"')
    if (status === 405 || status === 501) headers.push('Allow', this.allow)
    // A body that is not read ends the connection: no further request can follow it.
    if (status === 413 || (hasBody(this.request) && !this.request.complete)) {
      headers.push('Connection', 'close')
    }
    this.send(status, headers, body, 0)
  }

  /** Reports the end of the request. */
  finished(status: number, bytes: number, rows: number): void {
    this.#onFinished({ pending: this, status, bytes, rows })
  }
}

// One character per byte, which Node writes back as the same bytes.
function toLatin1({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1')
}

/** True when the request has a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined
}

/** What a handler gets; its signal is created when the handler first reads it. */
export class HandlerRequest implements RouteRequest<ParamTable, ParamTable> {
  readonly path: Values
  readonly query: Values
  readonly route: string
  readonly grant: Grant
  readonly format: Format
  readonly #pending: PendingRequest
  #abort: AbortController | undefined

  constructor(
    parts: { path: Values; query: Values; route: string; grant: Grant; format: Format },
    pending: PendingRequest,
  ) {
    this.path = parts.path
    this.query = parts.query
    this.route = parts.route
    this.grant = parts.grant
    this.format = parts.format
    this.#pending = pending
  }

  leasePage(before = 0): PageBuffer {
    return this.#pending.leasePage(before)
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController()
      const { response } = this.#pending
      this.#abort = abort
      if (response.destroyed) abort.abort()
      else {
        response.once('close', () => {
          if (!response.writableFinished) abort.abort()
        })
      }
    }
    return this.#abort.signal
  }
}

// Larger pages are left to the garbage collector.
const MAX_PAGE_BYTES = 4_194_304
const MAX_POOL_BYTES = 16_777_216

/** Reuses page buffers: allocating 116 KB for every page costs a fifth of the requests per second. */
class PagePool {
  readonly #free: PageBuffer[] = []
  #bytes = 0

  /** A page that is empty but for `before` bytes of room at its start. */
  acquire(before = 0): PageBuffer {
    const used = this.#free.pop()
    if (used !== undefined) this.#bytes -= used.bytes.length
    const page = used ?? new PageBuffer()
    page.clear(before)
    return page
  }

  /** Puts pages back; the caller must not read or write them any more. */
  release(pages: readonly PageBuffer[]): void {
    for (const page of pages) {
      const { length } = page.bytes
      if (length > MAX_PAGE_BYTES || this.#bytes + length > MAX_POOL_BYTES) continue
      this.#bytes += length
      this.#free.push(page)
    }
  }
}

/** The pool of the process. */
export const PAGES = new PagePool()
