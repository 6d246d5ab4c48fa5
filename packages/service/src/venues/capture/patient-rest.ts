import { PriorbookError } from '@priorbook/sdk/domain'
import { SYSTEM_CLOCK, type Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/wait.ts'
import type { CaptureLog, CaptureSink } from './contract.ts'
import { createQuota, type Quota, type QuotaOptions } from './quota.ts'
import { createRest, type Rest, type RestAnswer, type RestCall } from './rest.ts'

/** What a patient client needs. */
export type PatientRestOptions = {
  /** The name of the venue in messages. */
  readonly label: string
  readonly base: string
  /** The even pace of the calls, which clients of the same limit share. */
  readonly pace: Quota
  readonly sink: CaptureSink
  readonly log: CaptureLog
  readonly clock?: Clock
}

const MAX_ATTEMPTS = 20
/** Max attempts for calls that the venue refuses: another answer may be better. */
const MAX_REFUSALS = 3
const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 30_000
/** Pages of a thousand rows take longer than books. */
const TIMEOUT_MS = 30_000
/** Calls start this much further apart than the quota requires, as they may come closer on the way. */
const PACE_SLACK = 0.05

/**
 * Spreads calls evenly over a quota: a process that was killed and started again does not know what the one
 * before it spent, and together they must not exceed it.
 */
export function createPace({ limit, windowMs }: QuotaOptions, clock?: Clock): Quota {
  const paceMs = windowMs / limit
  return createQuota({ limit: 1, windowMs: paceMs, slackMs: paceMs * PACE_SLACK }, clock)
}

/** Calls a venue until there is an answer. */
export class PatientRest {
  readonly #options: PatientRestOptions
  readonly #clock: Clock
  readonly #rest: Rest
  #calls = 0

  constructor(options: PatientRestOptions) {
    const { base, pace: quota, sink, log, clock = SYSTEM_CLOCK } = options
    this.#options = options
    this.#clock = clock
    this.#rest = createRest({ base, quota, sink, log, timeoutMs: TIMEOUT_MS })
  }

  /** Calls so far. */
  get calls(): number {
    return this.#calls
  }

  /**
   * Returns the answer, or the refusal of a venue that does not have what was requested. Throws
   * `upstream_failed` where the venue does not answer for long, or refuses this client.
   */
  async send(call: RestCall, signal: AbortSignal): Promise<RestAnswer> {
    const { label, log } = this.#options
    let why = ''
    for (let attempt = 0, refusals = 0; attempt < MAX_ATTEMPTS; attempt++) {
      this.#calls++
      const answer = await this.#rest.send(call, signal)
      if (answer.ok) return answer
      why = `${answer.status ?? 'no answer'}: ${answer.why}`
      log.warn({ request: call.request, why }, `a call of the history of ${label} failed`)
      // Nothing that follows would be answered either, and it is not the venue's history that is missing.
      if (REFUSES_US.has(answer.status ?? 0)) break
      if (isRefusal(answer) && ++refusals >= MAX_REFUSALS) return answer
      await sleep(Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt), signal, this.#clock)
      signal.throwIfAborted()
    }
    throw new PriorbookError('upstream_failed', `${label} did not answer ${call.path}: ${why}`)
  }
}

const REFUSES_US: ReadonlySet<number> = new Set([401, 403, 407, 451])

// 4xx, except those that pass by themselves.
function isRefusal({ status = 0 }: RestAnswer & { readonly ok: false }): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 418 && status !== 429
}
