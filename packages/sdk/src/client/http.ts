import type { MetaJson, NoticeJson, WriteMethod } from '../wire/index.ts'
import { DEFAULT_RETRY, delayOf, parseRetryAfter, sleep, type RetryPolicy } from './backoff.ts'
import { PriorbookApiError, PriorbookClientError } from './errors.ts'

/** A value of a parameter; a list is joined by commas, an absent one is left out. */
type QueryValue = string | number | boolean | Date | readonly string[] | undefined | null

/** Parameters by their names on the wire. */
export type Query = Readonly<Record<string, QueryValue>>

/** A failed attempt that is retried. */
export type RetryEvent = {
  /** From 1. */
  readonly attempt: number
  readonly delayMs: number
  readonly error: Error
  readonly path: string
}

/** How requests are made. */
export type HttpOptions = {
  readonly base: string
  readonly key: string | (() => string | Promise<string>) | undefined
  readonly fetch: typeof globalThis.fetch
  readonly retry: RetryPolicy
  readonly timeoutMs: number
  readonly onRetry: ((event: RetryEvent) => void) | undefined
}

/** What may differ from request to request. */
export type RequestOptions = {
  readonly signal?: AbortSignal | undefined
  /** Time limit until the whole answer has arrived; the client's own where absent, 0 for no limit. */
  readonly timeoutMs?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** An answer as it came. */
export type RawAnswer = { readonly body: Blob; readonly headers: Headers }

/** A JSON answer with the id of its request. */
export type JsonAnswer = {
  readonly body: unknown
  readonly requestId: string | undefined
}

/** Makes requests, and retries those that read where that can help. */
export class Http {
  private readonly options: HttpOptions

  constructor(options: HttpOptions) {
    this.options = options
  }

  /** The address of a path with parameters. */
  addressOf(path: string, query: Query = {}): string {
    const pairs = Object.entries(query).flatMap(([name, value]) =>
      value === undefined || value === null
        ? []
        : [[name, printValue(value)] satisfies [string, string]],
    )
    const text = new URLSearchParams(pairs).toString()
    return `${this.options.base}${path}${text === '' ? '' : `?${text}`}`
  }

  /** Gets a JSON document; broken and truncated answers are retried. */
  getJson(path: string, query: Query, options: RequestOptions = {}): Promise<JsonAnswer> {
    return this.attempt(path, options, async (signal) => {
      const response = await this.send(path, query, signal, {
        accept: 'application/json',
        ...options.headers,
      })
      return { body: await readJson(response), requestId: requestIdOf(response) }
    })
  }

  /** Changes something, once: what may have been done already is not repeated. */
  writeJson(
    method: WriteMethod,
    path: string,
    body: unknown,
    options: RequestOptions = {},
  ): Promise<JsonAnswer> {
    const headers = {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const init = { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const run = async (signal: AbortSignal | undefined): Promise<JsonAnswer> => {
      const response = await this.send(path, {}, signal, headers, init)
      return { body: await readJson(response), requestId: requestIdOf(response) }
    }
    return this.attempt(path, options, run, 0)
  }

  /** Gets an answer whose body the caller reads; only failures before the body are retried. */
  open(path: string, query: Query, options: RequestOptions = {}): Promise<Response> {
    // The time limit covers the headers only: the body may take any time.
    return this.attempt(path, options, (signal) =>
      this.send(path, query, signal, options.headers ?? {}),
    )
  }

  /** Gets a whole answer in any format; broken answers are retried. */
  getRaw(path: string, options: RequestOptions = {}): Promise<RawAnswer> {
    return this.attempt(path, options, async (signal) => {
      const response = await this.send(path, {}, signal, options.headers ?? {})
      return { body: await response.blob(), headers: response.headers }
    })
  }

  private async send(
    path: string,
    query: Query,
    signal: AbortSignal | undefined,
    headers: Readonly<Record<string, string>>,
    init: { readonly method?: WriteMethod; readonly body?: string } = {},
  ): Promise<Response> {
    const { key, fetch } = this.options
    const own = typeof key === 'function' ? checkKey(await key()) : key
    const response = await fetch(this.addressOf(path, query), {
      ...init,
      headers: { ...headers, ...(own === undefined ? {} : { authorization: `Bearer ${own}` }) },
      ...(signal === undefined ? {} : { signal }),
    })
    if (!response.ok) throw await toApiError(response)
    return response
  }

  private async attempt<Result>(
    path: string,
    { signal, timeoutMs = this.options.timeoutMs }: RequestOptions,
    run: (signal: AbortSignal | undefined) => Promise<Result>,
    retries = this.options.retry.retries,
  ): Promise<Result> {
    const { retry, onRetry } = this.options
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted()
      const limit = timeoutMs > 0 ? new AbortController() : undefined
      const timer = limit === undefined ? undefined : setTimeout(() => limit.abort(), timeoutMs)
      let error: Error
      try {
        return await run(anySignal(signal, limit?.signal))
      } catch (cause) {
        signal?.throwIfAborted()
        error = limit?.signal.aborted === true ? timedOut(path, timeoutMs) : toError(cause, path)
      } finally {
        clearTimeout(timer)
      }
      const retryAfterMs = isRetryable(error) ? waitOf(error) : undefined
      if (retryAfterMs === undefined || attempt > retries || retryAfterMs > retry.maxRetryAfterMs) {
        throw error
      }
      const delayMs = delayOf(retry, attempt, retryAfterMs)
      onRetry?.({ attempt, delayMs, error, path })
      await sleep(delayMs, signal)
    }
  }
}

/** Refuses a key that no header can carry, without repeating it. */
export function checkKey(key: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw new PriorbookClientError(
    'invalid_option',
    'the key is empty or holds a space or a line break; copy it again',
  )
}

/** The default policy with the options of the caller. */
export function retryPolicy(chosen: number | Partial<RetryPolicy> | undefined): RetryPolicy {
  if (chosen === undefined) return DEFAULT_RETRY
  return { ...DEFAULT_RETRY, ...(typeof chosen === 'number' ? { retries: chosen } : chosen) }
}

function printValue(value: NonNullable<QueryValue>): string {
  if (value instanceof Date) return value.toISOString()
  return Array.isArray(value) ? value.join(',') : String(value)
}

function anySignal(
  first: AbortSignal | undefined,
  second: AbortSignal | undefined,
): AbortSignal | undefined {
  if (first === undefined || second === undefined) return first ?? second
  return AbortSignal.any([first, second])
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text()
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new PriorbookClientError(
      'bad_answer',
      `the answer is not JSON: it was cut after ${text.length} characters, or it is not from Priorbook`,
      { cause },
    )
  }
}

async function toApiError(response: Response): Promise<PriorbookApiError> {
  const { status, headers } = response
  const text = await response.text().catch(() => '')
  const body = objectOf(text)
  const word = (name: string): string | undefined =>
    typeof body[name] === 'string' ? body[name] : undefined
  const allowed = Array.isArray(body['allowed']) ? body['allowed'].map(String) : undefined
  const asked = parseRetryAfter(headers.get('retry-after'), Date.now())
  const retryAfter =
    asked === undefined
      ? typeof body['retry_after'] === 'number'
        ? body['retry_after']
        : undefined
      : asked / 1000
  const title = word('title') ?? `HTTP ${status} ${response.statusText}`.trim()
  return new PriorbookApiError({
    code: word('code') ?? `http_${status}`,
    status,
    title,
    detail: word('detail') ?? title,
    requestId: word('request_id') ?? requestIdOf(response),
    ...given('param', word('param')),
    ...given('allowed', allowed),
    ...given('hint', word('hint')),
    ...given('plan', word('plan')),
    ...given('limit', word('limit')),
    ...given('retryAfter', retryAfter),
  })
}

function given<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { [Key in Name]?: Value } {
  return (value === undefined ? {} : { [name]: value }) as { [Key in Name]?: Value }
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function requestIdOf({ headers }: Response): string | undefined {
  return headers.get('x-request-id') ?? undefined
}

function timedOut(path: string, timeoutMs: number): PriorbookClientError {
  return new PriorbookClientError('timed_out', `${path} took longer than ${timeoutMs} ms`)
}

/** Why a request failed: the message of `fetch` says nothing more than that it did. */
function toError(cause: unknown, path: string): Error {
  if (cause instanceof PriorbookApiError || cause instanceof PriorbookClientError) return cause
  const why = cause instanceof Error ? reasonOf(cause) : String(cause)
  return new PriorbookClientError('network_failed', `${path} failed: ${why}`, { cause })
}

function reasonOf(error: Error): string {
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  const { code, reason } = cause as Error & { readonly code?: unknown; readonly reason?: unknown }
  // The message of OpenSSL is an address in its memory and a line of its source.
  if (typeof code === 'string' && code.startsWith('ERR_SSL') && typeof reason === 'string')
    return `TLS failed: ${reason}`
  return cause.message === '' && typeof code === 'string' ? code : cause.message
}

const RETRYABLE = new Set([408, 425, 429, 500, 502, 503, 504])

function isRetryable(error: Error): boolean {
  if (error instanceof PriorbookApiError) return RETRYABLE.has(error.status)
  return error instanceof PriorbookClientError && error.code !== 'invalid_option'
}

function waitOf(error: Error): number {
  return error instanceof PriorbookApiError ? (error.retryAfter ?? 0) * 1000 : 0
}

/** An answer: its data, its `meta`, its notices, and the id of the request in the server's log. */
export type Answer<Data> = {
  readonly data: Data
  readonly meta: MetaJson
  /** Always a list, unlike `meta.notice`. */
  readonly notices: readonly NoticeJson[]
  readonly requestId: string | undefined
}

/** A parsed envelope with its cursor. */
export type Envelope<Data> = Answer<Data> & { readonly nextCursor: string | null }

/** Parses a body as an envelope; throws `bad_answer` where it is not one. */
export function parseEnvelope<Data>({ body, requestId }: JsonAnswer): Envelope<Data> {
  const { data, meta, pagination } = (body ?? {}) as {
    readonly data?: Data
    readonly meta?: MetaJson
    readonly pagination?: { readonly next_cursor?: string | null }
  }
  if (data === undefined || meta === undefined || pagination === undefined) {
    throw new PriorbookClientError(
      'bad_answer',
      'the answer has no data, meta and pagination; is the address that of a Priorbook server?',
    )
  }
  return {
    data,
    meta,
    notices: noticesOf(meta),
    requestId,
    nextCursor: pagination.next_cursor ?? null,
  }
}

// Servers of older versions have `notice` alone.
function noticesOf({ notices, notice }: Partial<MetaJson>): readonly NoticeJson[] {
  if (notices !== undefined) return notices
  if (notice === undefined) return []
  return Array.isArray(notice) ? (notice as readonly NoticeJson[]) : [notice as NoticeJson]
}
