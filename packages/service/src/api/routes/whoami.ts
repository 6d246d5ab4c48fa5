import { printMicros, type Micros } from '@priorbook/sdk/domain'
import { contractOf } from '@priorbook/sdk/wire'
import { defineRoute } from '../route.ts'
import { callerOf } from '../auth/grant.ts'

/** `/v3/whoami`: which key this is and what it may do. */
export const whoamiRoute = defineRoute(contractOf('whoami'), async ({ grant }, { now }) => {
  const { terms, key } = callerOf(grant)
  const start = grant.windowStart(now())
  const data = {
    key_id: key?.id,
    key_prefix: key?.prefix,
    key_last_four: key?.lastFour,
    name: key?.name,
    plan: terms.name,
    created_time: timeOf(key?.created),
    expires_time: timeOf(key?.expires),
    // When a rolled key stops working.
    ends_time: timeOf(key?.revoked),
    venues: terms.venues,
    assets: terms.assets,
    history_days: terms.days,
    history_start_time: terms.days === null ? null : timeOf(start),
    features: terms.features,
  }
  return { kind: 'data', data, count: 1, meta: {} }
})

function timeOf(time: Micros | undefined): string | null {
  return time === undefined ? null : printMicros(time)
}
