import { COUNT, listOf, NUMBER, objectOf, orNull, TEXT } from '@priorbook/sdk/wire'
import { DEFAULT_LIMIT, INTERVALS, MAX_LIMIT } from '../params.ts'
import { defineRoute, requireServer } from '../route.ts'
import { callerOf } from '../auth/grant.ts'

const BULK_DAYS = 31
const ADDRESS_BYTES = 8192
const HEADER_BYTES = 16_384

/** `/v3/limits`: every limit that a request of this key can meet, before it meets it. */
export const limitsRoute = defineRoute({
  id: 'limits',
  address: '/v3/limits',
  tag: 'Account',
  summary: 'Every limit of the key, and what is left of it',
  description:
    'Rate limits hold over any span of a second or a minute, for all connections together. This request counts as well. `stream`: connections of the key, and what one connection may have.',
  path: {},
  query: {},
  data: objectOf({
    plan: TEXT,
    rates: listOf(
      objectOf({
        limit: TEXT,
        quota: COUNT,
        window_seconds: COUNT,
        remaining: COUNT,
        reset_seconds: NUMBER,
      }),
    ),
    page: objectOf({ default: COUNT, max: COUNT }),
    intervals: listOf(TEXT),
    bulk_days: orNull(COUNT),
    history_days: orNull(COUNT),
    stream: objectOf({
      connections: COUNT,
      subscriptions: COUNT,
      instruments: COUNT,
      replays: COUNT,
    }),
    address_bytes: COUNT,
    header_bytes: COUNT,
  }),
  async handle({ grant }, context) {
    const { terms } = callerOf(grant)
    const nowMs = context.now() / 1000
    const rates = requireServer(context)
      .limits(grant)
      .map(({ name, quota, seconds, remaining, resetMs }) => ({
        limit: name,
        quota,
        window_seconds: seconds,
        remaining,
        reset_seconds: Math.max(0, Math.round(resetMs - nowMs)) / 1000,
      }))
    const data = {
      plan: terms.name,
      rates,
      page: { default: DEFAULT_LIMIT, max: MAX_LIMIT },
      intervals: Object.keys(INTERVALS),
      bulk_days: terms.features.includes('bulk_beyond_31_days') ? null : BULK_DAYS,
      history_days: terms.days,
      stream: terms.stream,
      address_bytes: ADDRESS_BYTES,
      header_bytes: HEADER_BYTES,
    }
    return { kind: 'data', data, count: 1, meta: {} }
  },
})
