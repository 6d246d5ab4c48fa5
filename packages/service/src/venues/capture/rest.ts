import type { Json } from '@priorbook/sdk/domain'
import { tryParseMessageJson } from '../../lib/message-json.ts'
import type { CaptureLog, CaptureRequest, CaptureSink, Reading } from './contract.ts'
import type { Quota } from './quota.ts'
import { readBody } from './read-body.ts'

/** One request: what it is for, where it goes, and what it costs of the quota. */
export type RestCall = {
  /** Journaled in front of the answer. */
  readonly request: CaptureRequest
  readonly path: string
  readonly query?: Readonly<Record<string, string | readonly string[]>>
  readonly method?: 'GET' | 'POST'
  readonly body?: Json
  /** The client's cost per call by default. */
  readonly cost?: number
  /** The client's limit by default. */
  readonly timeoutMs?: number
  /** Books have priority over the catalogue. */
  readonly urgent?: boolean
  /** False for answers that are not data (limits, time): they are not journaled. */
  readonly keep?: boolean
  /**
   * Completes the request with what its answer shows, before both are journaled; undefined where nothing of
   * the answer is recorded.
   */
  describe?(value: unknown): CaptureRequest | undefined
  /**
   * Called after a 200 response. Return a reason to discard it (for example, the subscription changed
   * meanwhile); it is then journaled as a failed request.
   */
  refuse?(): string | undefined
}

/** An answer that is JSON, or why there is none. */
export type RestAnswer =
  | {
      readonly ok: true
      readonly value: unknown
      /** What the recorder read in it; empty for an answer that is not journaled. */
      readonly reading: Reading
    }
  /** `status` is absent where no response came at all; 200 where it could not be read, or not be kept. */
  | { readonly ok: false; readonly status?: number; readonly why: string }

/** What a REST client needs. */
export type RestOptions = {
  readonly base: string
  readonly quota: Quota
  /** Cost per call; 1 by default. */
  readonly cost?: number
  /** Signs a call; called for every attempt. Query parameters that it returns are added to the url. */
  sign?(call: RestCall): {
    readonly headers?: Readonly<Record<string, string>>
    readonly query?: Readonly<Record<string, string>>
  }
  readonly sink: Pick<
    CaptureSink,
    'now' | 'steadyNow' | 'position' | 'answer' | 'note' | 'isFull' | 'tracing'
  >
  readonly log: CaptureLog
  readonly timeoutMs?: number
}

/** Calls a venue's REST interface under its quota and puts every answer into the journal. */
export interface Rest {
  /** Never throws for an upstream failure; throws only when the signal aborts. */
  send(call: RestCall, signal: AbortSignal): Promise<RestAnswer>
}

/** Creates a REST client. */
export function createRest(options: RestOptions): Rest {
  return new RestClient(options)
}

const TIMEOUT_MS = 5_000
// How often the venue's clock is noted, and by how much a stepped wall clock has moved at least, in µs.
const CLOCK_EVERY = 60_000_000
const STEP = 1_000_000
/** Max characters of an error that are kept. */
const SHOWN_CHARS = 200
const UNREAD: Reading = { events: [], problems: [] }

class RestClient implements Rest {
  readonly #options: RestOptions
  #clockNoted = -Infinity
  /** The wall clock minus the steady one when the venue's clock was noted. */
  #shift = 0

  constructor(options: RestOptions) {
    this.#options = options
  }

  send(call: RestCall, signal: AbortSignal): Promise<RestAnswer> {
    const { tracing } = this.#options.sink
    return tracing === undefined
      ? this.#send(call, signal)
      : this.#sendTraced(call, signal, tracing)
  }

  async #sendTraced(
    call: RestCall,
    signal: AbortSignal,
    tracing: NonNullable<CaptureSink['tracing']>,
  ): Promise<RestAnswer> {
    const span = tracing.span('upstream poll', {
      'http.request.method': call.method ?? 'GET',
      'server.address': new URL(this.#options.base).host,
      'priorbook.request': call.request.kind,
    })
    try {
      const answer = await this.#send(call, signal)
      const { status } = answer.ok ? { status: 200 } : answer
      const known = status === undefined ? {} : { 'http.response.status_code': status }
      span.end(known, answer.ok ? undefined : answer.why)
      return answer
    } catch (error) {
      span.end({}, 'aborted')
      throw error
    }
  }

  async #send(call: RestCall, signal: AbortSignal): Promise<RestAnswer> {
    const { quota, sink, cost = 1 } = this.#options
    const release = await quota.acquire(call.cost ?? cost, call.urgent ?? false, signal)
    let status: number
    let bytes: Uint8Array
    const asked = sink.position()
    try {
      const sent = sink.steadyNow()
      const response = await this.#fetch(call, signal)
      status = response.status
      this.#noteClock(response.headers.get('date'), sent)
      bytes = await readBody(response)
    } catch (error) {
      if (signal.aborted) throw error
      return this.#fail(call, undefined, describe(error))
    } finally {
      release()
    }
    const received = sink.now()
    if (status === 429) quota.refused()
    else quota.answered()
    if (status !== 200) {
      const text = Buffer.from(bytes.subarray(0, SHOWN_CHARS)).toString('latin1')
      return this.#fail(call, status, text)
    }
    // Before anything is decided by the answer: it is asked for again, as if the venue had given none. The note of a
    // failed request would not be kept either.
    if (call.keep !== false && sink.isFull?.() === true) {
      return { ok: false, status, why: 'there is no space to keep the answer' }
    }
    const refusal = call.refuse?.()
    if (refusal !== undefined) return this.#fail(call, status, refusal)
    const value = tryParseMessageJson(bytes)
    // Malformed JSON is journaled too: the recorder puts it into quarantine.
    const request =
      value === undefined || call.describe === undefined ? call.request : call.describe(value)
    const isKept = call.keep !== false && request !== undefined
    const reading = isKept ? sink.answer(request, received, bytes, value, asked) : UNREAD
    return value === undefined
      ? { ok: false, status, why: 'not JSON' }
      : { ok: true, value, reading }
  }

  #fetch(call: RestCall, signal: AbortSignal): Promise<Response> {
    const { base } = this.#options
    const timeoutMs = call.timeoutMs ?? this.#options.timeoutMs ?? TIMEOUT_MS
    const signed = this.#options.sign?.(call) ?? {}
    const headers: Record<string, string> = { accept: 'application/json', ...signed.headers }
    const { body } = call
    if (body !== undefined) headers['content-type'] = 'application/json'
    return fetch(toUrl(base, call, signed.query), {
      method: call.method ?? 'GET',
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    })
  }

  #fail(call: RestCall, status: number | undefined, why: string): RestAnswer {
    const fields = status === undefined ? { why } : { status, why }
    this.#options.sink.note({ note: 'failed', request: call.request, ...fields })
    return { ok: false, ...fields }
  }

  // The header has whole seconds: the true time lies within the second that it names.
  #noteClock(date: string | null, sent: number): void {
    const { sink } = this.#options
    const [now, steady] = [sink.now(), sink.steadyNow()]
    const dateMs = date === null ? NaN : Date.parse(date)
    const shift = now - steady
    // A wall clock that was stepped is compared at once.
    const isDue = steady - this.#clockNoted >= CLOCK_EVERY || Math.abs(shift - this.#shift) > STEP
    if (Number.isNaN(dateMs) || !isDue) return
    this.#clockNoted = steady
    this.#shift = shift
    const roundTrip = steady - sent
    const offset = dateMs * 1000 + 500_000 - (now - roundTrip / 2)
    const round = { offset_us: Math.round(offset), round_trip_us: roundTrip }
    sink.note({ note: 'clock', ...round, step_us: 1_000_000 })
  }
}

/** How long a page of a walk may take: it waits while a recorder that has just started reads hundreds of sockets. */
export const PAGE_MS = 30_000

/** How reading a list ended: with its last page, cut off because it did not end, or with a failed page. */
export type PagesEnd = 'complete' | 'cut' | 'failed'

/**
 * Reads a list page by page. `readPage` gets the position that the page before named and returns how many
 * items its page holds and the next position; undefined for a page that failed. A list that repeats a
 * position, is empty before its end, or is longer than `maxPages` is cut off: reading it again soon is
 * better than spending the whole quota on it.
 */
export async function readPages<Position>(
  maxPages: number,
  readPage: (
    position: Position | undefined,
  ) => Promise<{ readonly items: number; readonly next?: Position } | undefined>,
): Promise<PagesEnd> {
  const seen = new Set<Position>()
  let position: Position | undefined
  for (let page = 0; page < maxPages; page++) {
    const read = await readPage(position)
    if (read === undefined) return 'failed'
    if (read.next === undefined) return 'complete'
    if (seen.has(read.next) || read.items === 0) return 'cut'
    seen.add(read.next)
    position = read.next
  }
  return 'cut'
}

function toUrl(base: string, call: RestCall, signed: RestCall['query'] = {}): URL {
  const url = new URL(base.replace(/\/$/, '') + call.path)
  for (const [name, value] of Object.entries({ ...call.query, ...signed })) {
    for (const one of typeof value === 'string' ? [value] : value) {
      url.searchParams.append(name, one)
    }
  }
  return url
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${error.message}${cause}`.slice(0, SHOWN_CHARS)
}
