import type { Json } from '@priorbook/sdk/domain'
import type { CaptureLog, CaptureRequest, CaptureSink, Reading } from './contract.ts'
import type { Quota } from './quota.ts'

/** One request: what it is for, where it goes, what it costs of the quota. */
export type RestCall = {
  /** Goes to the journal in front of the answer. */
  readonly request: CaptureRequest
  readonly path: string
  readonly query?: Readonly<Record<string, string | readonly string[]>>
  readonly method?: 'GET' | 'POST'
  readonly body?: Json
  readonly cost?: number
  /** Books go before the catalogue. */
  readonly urgent?: boolean
  /** False for answers that are no data (limits, time): they are not journaled. */
  readonly keep?: boolean
  /** Asked when a good answer is there: why it must not count any more, if so. It is noted as failed. */
  refuse?(): string | undefined
}

/** An answer that was understood as JSON, or why there is none. */
export type RestAnswer =
  | {
      readonly ok: true
      readonly value: unknown
      /** What the recorder read in it; empty for an answer that is not journaled. */
      readonly reading: Reading
    }
  /** `status` is absent where no answer came at all. */
  | { readonly ok: false; readonly status?: number; readonly why: string }

/** What a REST client needs. */
export type RestOptions = {
  readonly base: string
  readonly quota: Quota
  /** Adds what proves who asks; called for every attempt. Query parameters it gives are added to the url. */
  sign?(call: RestCall): {
    readonly headers?: Readonly<Record<string, string>>
    readonly query?: Readonly<Record<string, string>>
  }
  readonly sink: Pick<CaptureSink, 'now' | 'answer' | 'note'>
  readonly log: CaptureLog
  readonly timeoutMs?: number
}

/** Asks a venue's REST interface under its quota, and puts every answer into the journal. */
export interface Rest {
  /** Never throws for what an upstream does; throws only when the signal aborts. */
  ask(call: RestCall, signal: AbortSignal): Promise<RestAnswer>
}

const TIMEOUT_MS = 5_000
const MAX_ANSWER_BYTES = 32 * 1024 * 1024
const CLOCK_EVERY_MS = 60_000
const SHOWN = 200
const UNREAD: Reading = { events: [], problems: [] }

/** Creates a REST client. */
export function createRest(options: RestOptions): Rest {
  const { base, quota, sink, timeoutMs = TIMEOUT_MS } = options
  let clockAt = -Infinity

  async function ask(call: RestCall, signal: AbortSignal): Promise<RestAnswer> {
    const end = await quota.take(call.cost ?? 1, call.urgent ?? false, signal)
    const sent = sink.now()
    let status: number
    let bytes: Uint8Array
    try {
      const signed = options.sign?.(call) ?? {}
      const headers: Record<string, string> = { accept: 'application/json', ...signed.headers }
      const { body } = call
      if (body !== undefined) headers['content-type'] = 'application/json'
      const response = await fetch(toUrl(base, call, signed.query), {
        method: call.method ?? 'GET',
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      })
      status = response.status
      noteClock(response.headers.get('date'), sent)
      bytes = await readBody(response)
    } catch (error) {
      if (signal.aborted) throw error
      return failed(call, undefined, describe(error))
    } finally {
      end()
    }
    const received = sink.now()
    if (status === 429) quota.refused()
    else quota.answered()
    if (status !== 200) {
      return failed(call, status, Buffer.from(bytes.subarray(0, SHOWN)).toString('latin1'))
    }
    const refused = call.refuse?.()
    if (refused !== undefined) return failed(call, status, refused)
    const value = parse(bytes)
    // What is no JSON is kept too: the recorder puts it into quarantine.
    const reading = call.keep === false ? UNREAD : sink.answer(call.request, received, bytes, value)
    return value === undefined
      ? { ok: false, status, why: 'no JSON' }
      : { ok: true, value, reading }
  }

  function failed(call: RestCall, status: number | undefined, why: string): RestAnswer {
    const fields = status === undefined ? { why } : { status, why }
    sink.note({ note: 'failed', request: call.request, ...fields })
    return { ok: false, ...fields }
  }

  // The header has whole seconds: the true time lies within the second that it names.
  function noteClock(date: string | null, sent: number): void {
    const now = sink.now()
    const said = date === null ? NaN : Date.parse(date)
    if (Number.isNaN(said) || now / 1000 - clockAt < CLOCK_EVERY_MS) return
    clockAt = now / 1000
    const offset = said * 1000 + 500_000 - (sent + now) / 2
    const round = { offset_us: Math.round(offset), round_trip_us: now - sent }
    sink.note({ note: 'clock', ...round, step_us: 1_000_000 })
  }

  return { ask }
}

function toUrl(base: string, call: RestCall, signed: RestCall['query'] = {}): URL {
  const url = new URL(base.replace(/\/$/, '') + call.path)
  for (const [name, value] of Object.entries({ ...call.query, ...signed })) {
    for (const one of typeof value === 'string' ? [value] : value)
      url.searchParams.append(name, one)
  }
  return url
}

async function readBody(response: Response): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of response.body ?? []) {
    length += piece.length
    if (length > MAX_ANSWER_BYTES) throw new Error(`answer beyond ${MAX_ANSWER_BYTES} bytes`)
    pieces.push(piece)
  }
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'))
  } catch {
    return undefined
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${error.message}${cause}`.slice(0, SHOWN)
}
