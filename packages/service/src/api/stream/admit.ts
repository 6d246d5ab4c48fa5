import type { Micros } from '@priorbook/sdk/domain'
import { Problem } from '@priorbook/sdk/wire'
import type { Access } from '../auth/access.ts'
import type { PlanGrant } from '../auth/grant.ts'

/** What the key of a new connection allows; opening one counts as a request. Throws `Problem`. */
export function admitKey(
  access: Access,
  authorization: string | undefined,
  now: Micros,
): PlanGrant {
  const grant = access.authenticator.check(authorization, now)
  const admission = access.limiter.admit(grant.keyId, grant.terms, now / 1000)
  if (admission === undefined || admission.isAdmitted) return grant
  const { name, quota, seconds, nextMs } = admission.refusedBy!
  throw new Problem(
    'rate_limited',
    `the plan ${grant.plan} allows ${quota} requests in ${seconds} s`,
    { limit: name, retryAfter: Math.max(1, Math.ceil((nextMs - now / 1000) / 1000)) },
  )
}
