import { DAY_MICROS, printMicros, type Micros } from '@priorbook/sdk/domain'
import { contractOf, DOCUMENTED_DAYS } from '@priorbook/sdk/wire'
import { defineRoute, requireServer } from '../route.ts'
import { callerOf } from '../auth/grant.ts'

const { usage: DEFAULT_DAYS } = DOCUMENTED_DAYS

/** `/v3/usage`: the use of the key, by UTC day and route. */
export const usageRoute = defineRoute(
  contractOf('usage'),
  async ({ grant, query: { days = DEFAULT_DAYS } }, context) => {
    const now = context.now()
    const first = now - (now % DAY_MICROS) - (days - 1) * DAY_MICROS
    const rows = requireServer(context).usage(grant.keyId, first)
    const data = rows.map(({ day, route, requests, refused, limited, rows, bytes }) => ({
      day: printMicros(day as Micros).slice(0, 10),
      route,
      requests,
      refused,
      limited,
      rows,
      bytes,
    }))
    const range = {
      start_time: printMicros(Math.max(0, first) as Micros),
      end_time: printMicros(now),
    }
    const notice = {
      code: 'no_usage',
      message: 'The key of this request was not used before in these days.',
    }
    const key = callerOf(grant).key?.id
    const meta = { range, key_id: key, ...(data.length === 0 ? { notice } : {}) }
    return { kind: 'data', data, count: data.length, meta }
  },
)
