import { PriorbookError } from '@priorbook/sdk/domain'
import { sleep } from '../../lib/wait.ts'
import type { CaptureLog, CaptureSink } from '../capture/contract.ts'
import { createQuota, type Quota } from '../capture/quota.ts'
import type { RestAnswer, RestCall } from '../capture/rest.ts'
import { createVenueAApi, isRefusal } from './api.ts'

/** What an asker works with. */
export type AskerOptions = {
  readonly restBase: string
  readonly apiKey: string
  readonly apiSecret: string
  readonly quota: Quota
  readonly sink: CaptureSink
  readonly log: CaptureLog
  /** How often a call is tried while the venue does not answer; 40 by default, half an hour. */
  readonly attempts?: number
}

/** Asks venue A at an even pace, until there is an answer or none can be had. */
export interface Asker {
  readonly calls: number
  /** Why the last call that failed did. */
  readonly why: string
  /**
   * What `read` makes of the answer, or undefined where the venue refuses the call itself: it does not
   * have what was asked for. Throws `upstream_failed` where it refuses the credentials or answers
   * nothing for long.
   */
  ask<T>(call: RestCall, read: (value: unknown) => T, signal: AbortSignal): Promise<T | undefined>
}

const ATTEMPTS = 40
/** Refused calls and answers that cannot be read are tried this often: another answer may be better. */
const REFUSED_ATTEMPTS = 3
/** The longest wait between attempts, in calls that the quota allows in this time. */
const MOST_CALLS_WAITED = 60
/** Beginnings are this much further apart than the quota asks for, as they may come closer on the way. */
const PACE_SLACK = 0.05

/**
 * Creates it. Calls are spread over the quota's window instead of being made in one go: a process that
 * is killed and started again does not know what the one before it spent, and must not exceed the quota
 * together with it.
 */
export function createAsker(options: AskerOptions): Asker {
  const { apiKey, apiSecret, quota, log, attempts = ATTEMPTS } = options
  const api = createVenueAApi({ ...options, credentials: { apiKey, apiSecret } })
  const paceMs = quota.windowMs / quota.limit
  const pace = createQuota({ limit: 1, windowMs: paceMs, slackMs: paceMs * PACE_SLACK })
  let calls = 0
  let why = ''

  return {
    get calls() {
      return calls
    },
    get why() {
      return why
    },
    async ask(call, read, signal) {
      let refused = 0
      for (let attempt = 0; attempt < attempts; attempt++) {
        const begin = await pace.acquire(1, false, signal)
        // Only beginnings are spread; the quota itself waits for answers.
        begin()
        calls++
        const answer = await api.send(call, signal)
        if (isRefusal(answer)) throw failure('venue A refuses the credentials', answer)
        if (answer.ok) {
          try {
            return read(answer.value)
          } catch (error) {
            if (!(error instanceof PriorbookError)) throw error
            why = error.message
            refused++
          }
        } else {
          why = `${answer.status ?? 'no answer'}: ${answer.why}`
          if (isRefused(answer)) refused++
        }
        log.warn({ venue: 'venuea', request: call.request, why }, 'a call of the backfill failed')
        if (refused >= REFUSED_ATTEMPTS) return undefined
        await sleep(paceMs * Math.min(MOST_CALLS_WAITED, 2 ** attempt), signal)
        signal.throwIfAborted()
      }
      throw new PriorbookError('upstream_failed', `venue A did not answer ${call.path}: ${why}`)
    },
  }
}

// 4xx, but not what passes by itself: too many calls (429, 418) and a signature that came late (-1021).
function isRefused(answer: RestAnswer & { readonly ok: false }): boolean {
  const { status = 0, why } = answer
  if (status < 400 || status >= 500 || status === 429 || status === 418 || status === 408)
    return false
  return !/"code"\s*:\s*-1021\b/.test(why)
}

function failure(what: string, answer: RestAnswer): PriorbookError {
  return new PriorbookError('upstream_failed', answer.ok ? what : `${what}: ${answer.why}`)
}
