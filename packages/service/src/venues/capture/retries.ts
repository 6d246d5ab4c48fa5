import type { Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/wait.ts'
import type { Rest, RestAnswer } from './rest.ts'

/** How often a call is made again, and after which waits. */
export type Patience = {
  /** Max calls while there is no answer. */
  readonly attempts: number
  /** Max calls that the venue refuses: another answer may be better. */
  readonly refusals: number
  /** The wait before the second call, which doubles up to the longest one. */
  readonly firstWaitMs: number
  readonly maxWaitMs: number
}

/** For pages of a walk: the list must not begin again because one page failed. */
export const WALK_PATIENCE: Patience = {
  attempts: 4,
  refusals: 1,
  firstWaitMs: 500,
  maxWaitMs: 2_000,
}

/** For a backfill, which would rather wait for minutes than lose a part of the past. */
export const BACKFILL_PATIENCE: Patience = {
  attempts: 20,
  refusals: 3,
  firstWaitMs: 250,
  maxWaitMs: 30_000,
}

/**
 * What an answer is worth: it can be used; another one may be better (`failed`), or is not expected after some more
 * (`refused`); or the venue refuses this client, and nothing that follows would be answered either.
 */
export type Verdict = 'good' | 'failed' | 'refused' | 'barred'

/**
 * Makes calls again that had no answer or were refused, as often as `patience` says; returns the last answer. `judge`
 * is called once with every answer.
 */
export function withRetries(
  rest: Rest,
  patience: Patience,
  clock: Clock,
  judge: (answer: RestAnswer) => Verdict = judgeByStatus,
): Rest {
  const { attempts, refusals, firstWaitMs, maxWaitMs } = patience
  return {
    async send(call, signal) {
      for (let attempt = 1, refused = 0; ; attempt++) {
        const answer = await rest.send(call, signal)
        const verdict = judge(answer)
        if (verdict === 'good' || verdict === 'barred') return answer
        if (verdict === 'refused') refused++
        if (attempt >= attempts || refused >= refusals) return answer
        await sleep(Math.min(maxWaitMs, firstWaitMs * 2 ** (attempt - 1)), signal, clock)
      }
    },
  }
}

/** Judges an answer by its status alone. */
export function judgeByStatus(answer: RestAnswer): Verdict {
  if (answer.ok) return 'good'
  if (refusesUs(answer)) return 'barred'
  return isRefusal(answer) ? 'refused' : 'failed'
}

type Failure = RestAnswer & { readonly ok: false }

const REFUSES_US: ReadonlySet<number> = new Set([401, 403, 407, 451])
const PASSES_BY_ITSELF: ReadonlySet<number> = new Set([408, 418, 429])

/** True where the venue refuses this client: nothing that follows would be answered either. */
function refusesUs({ status = 0 }: Failure): boolean {
  return REFUSES_US.has(status)
}

/** True where the venue does not have, or does not give, what was requested. */
export function isRefusal(failure: Failure): boolean {
  const { status = 0 } = failure
  return status >= 400 && status < 500 && !PASSES_BY_ITSELF.has(status) && !refusesUs(failure)
}
