import { BoundedMap } from '../../lib/bounded-map.ts'
import { toScript, type Redis } from '../../lib/redis.ts'
import type { LimitState } from '../route.ts'
import { limitsOf, type Admission, type Limiter } from './limiter.ts'
import type { Plan } from './plans.ts'
import { shapeOf, windowSeconds, type WindowLimit } from './sliding-window.ts'

// The sliding windows of `sliding-window.ts` in hashes, one field per bucket, by the clock of the server, so that
// clocks of nodes may differ. Returns whether the request is admitted and, for each window, how many more hits
// fit, and in how many milliseconds the oldest one leaves and another one fits.
const ADMIT = toScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local windows = {}
local admitted = 1
for i, key in ipairs(KEYS) do
  local bucketMs, buckets, quota = tonumber(ARGV[i * 3 - 2]), tonumber(ARGV[i * 3 - 1]), tonumber(ARGV[i * 3])
  local current = math.floor(now / bucketMs)
  local stored = redis.call('HGETALL', key)
  local live, gone, sum = {}, {}, 0
  for j = 1, #stored, 2 do
    local bucket = tonumber(stored[j])
    if bucket < current - buckets or bucket > current + buckets then
      gone[#gone + 1] = stored[j]
    else
      live[#live + 1] = { bucket, tonumber(stored[j + 1]) }
      sum = sum + tonumber(stored[j + 1])
    end
  end
  if #gone > 0 then redis.call('HDEL', key, unpack(gone)) end
  table.sort(live, function(a, b) return a[1] < b[1] end)
  local reset, nextFits, left = 0, 0, sum
  for j, one in ipairs(live) do
    local leaves = (one[1] + buckets + 1) * bucketMs - now
    if j == 1 then reset = leaves end
    if left < quota then break end
    left = left - one[2]
    if left < quota then nextFits = leaves end
  end
  if sum >= quota then admitted = 0 end
  windows[i] = { current, math.max(0, quota - sum), reset, nextFits, bucketMs * (buckets + 2) }
end
local answer = { admitted }
for i, key in ipairs(KEYS) do
  local one = windows[i]
  if admitted == 1 then
    redis.call('HINCRBY', key, one[1], 1)
    redis.call('PEXPIRE', key, one[5])
  end
  answer[#answer + 1] = one[2]
  answer[#answer + 1] = one[3]
  answer[#answer + 1] = one[4]
end
return answer
`)

// After a failure the server is left alone for so long.
const PAUSE_MS = 1_000
const MAX_KEYS = 10_000

/**
 * Counts the requests of keys over all nodes, in Redis: no span of a second or a minute has more than the plan
 * allows. While the server does not answer, each node counts for itself and allows its share.
 */
export class SharedLimiter {
  readonly #redis: Redis
  readonly #own: Limiter
  readonly #onTrouble: (why: string) => void
  readonly #refused = new BoundedMap<
    string,
    { readonly plan: Plan; readonly admission: Admission }
  >(MAX_KEYS)
  readonly #last = new BoundedMap<string, readonly LimitState[]>(MAX_KEYS)
  #pausedUntil = 0

  constructor(redis: Redis, own: Limiter, onTrouble: (why: string) => void) {
    this.#redis = redis
    this.#own = own
    this.#onTrouble = onTrouble
  }

  /** Counts a request if it is admitted; undefined for a plan without limits. */
  admit(
    keyId: string,
    plan: Plan,
    nowMs: number,
  ): Admission | Promise<Admission | undefined> | undefined {
    const limits = limitsOf(plan, 1)
    if (limits.length === 0) return undefined
    if (!this.#redis.isReady || performance.now() < this.#pausedUntil) {
      return this.#own.admit(keyId, plan, nowMs)
    }
    const before = this.#refused.get(keyId)
    if (before !== undefined) {
      const { nextMs } = before.admission.refusedBy!
      if (nowMs < nextMs && before.plan === plan) return before.admission
      this.#refused.delete(keyId)
    }
    return this.#ask(keyId, plan, limits, nowMs)
  }

  /** The limits of a key as of its last request. */
  look(keyId: string, plan: Plan, nowMs: number): readonly LimitState[] {
    return this.#last.get(keyId) ?? this.#own.look(keyId, plan, nowMs)
  }

  close(): void {
    this.#redis.close()
    this.#own.close()
  }

  async #ask(
    keyId: string,
    plan: Plan,
    limits: readonly WindowLimit[],
    nowMs: number,
  ): Promise<Admission | undefined> {
    const keys = limits.map(({ name }) => `priorbook:limit:{${keyId}}:${name}`)
    const values = limits.flatMap(({ name, quota }) => {
      const { bucketMs, buckets } = shapeOf(name)
      return [String(bucketMs), String(buckets), String(quota)]
    })
    let answer: number[]
    try {
      answer = (await this.#redis.run(ADMIT, keys, values)) as number[]
    } catch (error) {
      this.#pausedUntil = performance.now() + PAUSE_MS
      this.#onTrouble(error instanceof Error ? error.message : String(error))
      return this.#own.admit(keyId, plan, nowMs)
    }
    const isAdmitted = answer[0] === 1
    const states = limits.map((limit, at): LimitState => {
      const [fits, resetIn, nextIn] = answer.slice(1 + at * 3, 4 + at * 3) as [
        number,
        number,
        number,
      ]
      const seconds = windowSeconds(limit.name)
      return {
        ...limit,
        seconds,
        remaining: isAdmitted ? fits - 1 : fits,
        // The first request of a window is its oldest.
        resetMs: nowMs + (resetIn > 0 ? resetIn : seconds * 1000),
        nextMs: nowMs + nextIn,
      }
    })
    this.#last.set(keyId, states)
    if (isAdmitted) return { isAdmitted, limits: states }
    const full = states.filter(({ remaining }) => remaining === 0)
    const refusedBy = full.reduce((a, b) => (b.nextMs > a.nextMs ? b : a))
    const admission = { isAdmitted, limits: states, refusedBy }
    this.#refused.set(keyId, { plan, admission })
    return admission
  }
}
