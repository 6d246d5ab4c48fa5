import { printMicros, type Micros } from '@priorbook/sdk/domain'
import { COUNT, listOf, objectOf, orNull, TEXT, TEXT_OR_NULL } from '@priorbook/sdk/wire'
import { defineRoute } from '../route.ts'
import { callerOf } from '../auth/grant.ts'

/** `/v3/whoami`: which key this is and what it may do. */
export const whoamiRoute = defineRoute({
  id: 'whoami',
  address: '/v3/whoami',
  tag: 'Account',
  summary: 'Which key this is',
  description: 'The key of the request (never its text), its plan, and what the plan allows.',
  path: {},
  query: {},
  data: objectOf({
    key_id: TEXT,
    key_prefix: TEXT,
    key_last_four: TEXT,
    name: TEXT,
    plan: TEXT,
    created_time: TEXT,
    expires_time: TEXT_OR_NULL,
    ends_time: TEXT_OR_NULL,
    venues: listOf(TEXT),
    assets: orNull(listOf(TEXT)),
    history_days: orNull(COUNT),
    history_start_time: TEXT_OR_NULL,
    features: listOf(TEXT),
  }),
  async handle({ grant }, { now }) {
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
      // A key that was rolled works until then.
      ends_time: timeOf(key?.revoked),
      venues: terms.venues,
      assets: terms.assets,
      history_days: terms.days,
      history_start_time: terms.days === null ? null : timeOf(start),
      features: terms.features,
    }
    return { kind: 'data', data, count: 1, meta: {} }
  },
})

function timeOf(time: Micros | undefined): string | null {
  return time === undefined ? null : printMicros(time)
}
