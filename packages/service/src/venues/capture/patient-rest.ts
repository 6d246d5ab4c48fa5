import { PriorbookError } from '@priorbook/sdk/domain'
import { SYSTEM_CLOCK, type Clock } from '../../lib/clock.ts'
import type { CaptureLog, CaptureSink } from './contract.ts'
import { createQuota, type Quota, type QuotaOptions } from './quota.ts'
import { createRest, type Rest, type RestAnswer, type RestCall } from './rest.ts'
import { BACKFILL_PATIENCE, isRefusal, withRetries } from './retries.ts'

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
  readonly #label: string
  readonly #rest: Rest
  #calls = 0

  constructor(options: PatientRestOptions) {
    const { label, base, pace: quota, sink, log, clock = SYSTEM_CLOCK } = options
    this.#label = label
    const rest = createRest({ base, quota, sink, log, timeoutMs: TIMEOUT_MS })
    const counted: Rest['send'] = async (call, signal) => {
      this.#calls++
      const answer = await rest.send(call, signal)
      if (!answer.ok) {
        const why = whyOf(answer)
        log.warn({ request: call.request, why }, `a call of the history of ${label} failed`)
      }
      return answer
    }
    this.#rest = withRetries({ send: counted }, BACKFILL_PATIENCE, clock)
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
    const answer = await this.#rest.send(call, signal)
    if (answer.ok || isRefusal(answer)) return answer
    const detail = `${this.#label} did not answer ${call.path}: ${whyOf(answer)}`
    throw new PriorbookError('upstream_failed', detail)
  }
}

function whyOf({ status, why }: RestAnswer & { readonly ok: false }): string {
  return `${status ?? 'no answer'}: ${why}`
}
