import type { Micros } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import { BoundedMap } from '../../lib/bounded-map.ts'
import { createGrant, type PlanGrant } from './grant.ts'
import { hashKey, isKeyText } from './key-text.ts'
import type { KeyRecord, KeyRing } from './keys.ts'
import type { PlanBook } from './plans.ts'

/** Finds the grant of the key in a request header. */
export interface Authenticator {
  /** Throws `missing_key`, `invalid_key`, `revoked_key` or `expired_key`. */
  check(authorization: string | undefined, now: Micros): PlanGrant
}

// Changes of keys and plans take effect within a second; this leaves room for a slow check.
const REFRESH_MICROS = 400_000
// Max grants in the cache.
const MAX_CACHED = 10_000
const SCHEME = /^bearer +(.+)$/i

/** Checks keys against a ring; grants are cached until keys or plans change. */
export function createAuthenticator(ring: KeyRing, plans: PlanBook): Authenticator {
  const cache = new BoundedMap<string, PlanGrant>(MAX_CACHED)
  let revision = ring.revision()
  let refreshed = 0

  const refresh = (now: Micros): void => {
    // A clock that was set back must not stop the refresh.
    if (now - refreshed < REFRESH_MICROS && now >= refreshed) return
    refreshed = now
    const current = ring.revision()
    if (!plans.refresh() && current === revision) return
    revision = current
    cache.clear()
  }

  return {
    check(authorization, now) {
      refresh(now)
      if (authorization === undefined) throw missing()
      let grant = cache.get(authorization)
      if (grant === undefined) {
        grant = find(authorization, ring, plans)
        cache.set(authorization, grant)
      }
      refuseEnded(grant.key!, now)
      return grant
    },
  }
}

function find(authorization: string, ring: KeyRing, plans: PlanBook): PlanGrant {
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
