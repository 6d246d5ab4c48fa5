import type { Micros } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import { BoundedMap } from '../../lib/bounded-map.ts'
import { createGrant, type PlanGrant } from './grant.ts'
import { hashKey, isKeyText } from './key-text.ts'
import type { KeyRecord } from './keys.ts'
import type { PlanBook } from './plans.ts'

// Changes of keys and plans take effect within a second; this leaves room for a slow check.
const REFRESH_MICROS = 400_000
// Max grants in the cache.
const MAX_CACHED = 10_000
const SCHEME = /^bearer +(.+)$/i

/** Where keys are looked up; `revision` rises when they change. */
type KeyFinder = {
  revision(): number
  findByHash(hash: string): KeyRecord | undefined
}

/** Finds the grant of the key in a request header; grants are cached until keys or plans change. */
export class Authenticator {
  readonly #ring: KeyFinder
  readonly #plans: PlanBook
  readonly #cache = new BoundedMap<string, PlanGrant>(MAX_CACHED)
  #revision: string
  #refreshed = 0

  constructor(ring: KeyFinder, plans: PlanBook) {
    this.#ring = ring
    this.#plans = plans
    this.#revision = this.#current()
  }

  /** Throws `missing_key`, `invalid_key`, `revoked_key` or `expired_key`. */
  check(authorization: string | undefined, now: Micros): PlanGrant {
    this.#refresh(now)
    if (authorization === undefined) throw missing()
    let grant = this.#cache.get(authorization)
    if (grant === undefined) {
      grant = find(authorization, this.#ring, this.#plans)
      this.#cache.set(authorization, grant)
    }
    refuseEnded(grant.key!, now)
    return grant
  }

  #refresh(now: Micros): void {
    // A clock that was set back must not stop the refresh.
    if (now - this.#refreshed < REFRESH_MICROS && now >= this.#refreshed) return
    this.#refreshed = now
    const current = this.#current()
    if (current === this.#revision) return
    this.#revision = current
    this.#cache.clear()
  }

  #current(): string {
    return `${this.#ring.revision()} ${this.#plans.revision()}`
  }
}

function find(authorization: string, ring: KeyFinder, plans: PlanBook): PlanGrant {
  const text = SCHEME.exec(authorization)?.[1]
  if (text === undefined) throw missing()
  if (!isKeyText(text)) {
    throw new Problem(
      'invalid_key',
      'the key is mistyped or cut off: its checksum does not match',
      {
        hint: 'A key is pb_live_ and 36 letters and digits.',
      },
    )
  }
  const key = ring.findByHash(hashKey(text))
  if (key === undefined) throw new Problem('invalid_key', 'no such key was issued here')
  const plan = plans.find(key.plan)
  if (plan === undefined) {
    throw new Problem('plan_required', `the plan ${key.plan} of the key no longer exists`)
  }
  return createGrant(plan, plans.all(), key)
}

function refuseEnded(key: KeyRecord, now: Micros): void {
  if (key.revoked !== undefined && key.revoked <= now) {
    const why = key.replacedBy === undefined ? 'was revoked' : 'was replaced by a new one'
    throw new Problem('revoked_key', `the key ending in ${key.lastFour} ${why}`)
  }
  if (key.expires !== undefined && key.expires <= now) {
    throw new Problem('expired_key', `the key ending in ${key.lastFour} has expired`)
  }
}

function missing(): Problem {
  return new Problem('missing_key', 'the request has no header Authorization: Bearer <API_KEY>', {
    hint: 'Keys go into the header, never into the address. /v3/demo works without one.',
  })
}
