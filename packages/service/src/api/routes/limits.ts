import {
  contractOf,
  DOCUMENTED_DAYS,
  DEFAULT_LIMIT,
  INTERVALS,
  MAX_LIMIT,
} from '@priorbook/sdk/wire'
import { defineRoute, requireServer } from '../route.ts'
import { callerOf } from '../auth/grant.ts'

const { download: BULK_DAYS } = DOCUMENTED_DAYS
const ADDRESS_BYTES = 8192
const HEADER_BYTES = 16_384

/** `/v3/limits`: every limit of the key. */
export const limitsRoute = defineRoute(contractOf('limits'), async ({ grant }, context) => {
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
    alerts: terms.alerts,
    address_bytes: ADDRESS_BYTES,
    header_bytes: HEADER_BYTES,
  }
  return { kind: 'data', data, count: 1, meta: {} }
})
