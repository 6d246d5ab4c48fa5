import { PriorbookError, type Json, type Micros } from '@priorbook/sdk/domain'
import { tryParseMessageJson } from '../../../lib/message-json.ts'
import { isObject } from '../../capture/fields.ts'
import type { Quota } from '../../capture/quota.ts'
import { readBody } from '../../capture/read-body.ts'
import { readOutcome } from './rpc-values.ts'

/** An answer with its bytes, a refusal of the endpoint, or why there is none. */
export type RpcAnswer =
  | ({ readonly type: 'result'; readonly result: unknown } & RawAnswer)
  | ({
      readonly type: 'refused'
      readonly message: string
      /** True where the endpoint refuses because of too many requests. */
      readonly isLimit: boolean
    } & RawAnswer)
  | {
      readonly type: 'failed'
      readonly status?: number
      readonly why: string
      readonly isLimit: boolean
    }

/** The bytes of an answer, their JSON, and when they were received. */
export type RawAnswer = {
  readonly bytes: Uint8Array
  readonly value: unknown
  readonly received: Micros
}

/** What a client of a JSON-RPC endpoint needs. */
export type RpcOptions = {
  readonly url: string
  readonly quota: Quota
  now(): Micros
}

const TIMEOUT_MS = 15_000
const SHOWN_CHARS = 160
const LIMIT =
  /rate.?limit|too many requests|request rate|per second|compute unit|throughput|capacity|quota/i

/** Calls a JSON-RPC endpoint under its quota, one call per request. */
export class RpcClient {
  readonly #options: RpcOptions
  readonly #secrets: readonly string[]
  #id = 0

  constructor(options: RpcOptions) {
    this.#options = options
    this.#secrets = secretsOf(options.url)
  }

  /** Never throws for a failure of the endpoint; throws only when the signal aborts. */
  async call(method: string, params: Json, signal: AbortSignal): Promise<RpcAnswer> {
    const { quota } = this.#options
    const release = await quota.acquire(1, false, signal)
    let status: number
    let bytes: Uint8Array
    try {
      const response = await this.#post(method, params, signal)
      status = response.status
      bytes = await readBody(response)
    } catch (error) {
      if (signal.aborted) throw error
      return { type: 'failed', why: this.#describe(error), isLimit: false }
    } finally {
      release()
    }
    const answer = this.#read(status, bytes, this.#options.now())
    if (answer.type !== 'result' && answer.isLimit) quota.refused()
    else quota.answered()
    return answer
  }

  #read(status: number, bytes: Uint8Array, received: Micros): RpcAnswer {
    const value = tryParseMessageJson(bytes)
    // Endpoints also refuse with an HTTP status and the same body.
    if (isObject(value) && (status === 200 || isObject(value['error']))) {
      const raw = { bytes, value, received }
      try {
        const outcome = readOutcome(value)
        if (outcome.type === 'result') return { ...outcome, ...raw }
        const isLimit = status === 429 || outcome.code === 429 || LIMIT.test(outcome.message)
        return { type: 'refused', message: this.#scrub(outcome.message), isLimit, ...raw }
      } catch (error) {
        if (!(error instanceof PriorbookError)) throw error
        return { type: 'failed', status, why: error.message, isLimit: false }
      }
    }
    const text = Buffer.from(bytes.subarray(0, SHOWN_CHARS)).toString('latin1')
    return { type: 'failed', status, why: this.#scrub(text), isLimit: status === 429 }
  }

  #post(method: string, params: Json, signal: AbortSignal): Promise<Response> {
    return fetch(this.#options.url, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++this.#id, method, params }),
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
  }

  #describe(error: unknown): string {
    if (!(error instanceof Error)) return this.#scrub(String(error))
    const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ''
    return this.#scrub(`${error.message}${cause}`.slice(0, SHOWN_CHARS))
  }

  // The address of an endpoint usually contains a key, which must reach neither the journal nor the log.
  #scrub(text: string): string {
    return this.#secrets.reduce((clean, secret) => clean.replaceAll(secret, '…'), text)
  }
}

const SECRET_CHARS = 6

function secretsOf(url: string): string[] {
  // The message does not repeat the address: it may contain a key.
  if (!URL.canParse(url)) throw new PriorbookError('invalid_config', 'the endpoint is not a URL')
  const { pathname, search, username, password } = new URL(url)
  const parts = [...pathname.split('/'), ...search.split(/[?&=]/), username, password]
  return parts.filter((part) => part.length >= SECRET_CHARS)
}
