import { randomBytes } from 'node:crypto'
import type { RequestTally } from '../../lib/api-tally.ts'
import type { RequestSpan } from '../../lib/tracing.ts'
import type { Access } from '../auth/access.ts'
import type { OnFinished } from './request.ts'

/** Where requests are logged. */
export interface RequestLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Creates a generator of request ids that no other process produces. */
export function createRequestIds(): () => string {
  const prefix = randomBytes(6).toString('hex')
  let count = 0
  return () => `${prefix}-${(++count).toString(36)}`
}

/** Creates the function that counts and logs finished requests: by route, never by address. */
export function createOnFinished(
  access: Access,
  tally: RequestTally,
  log: RequestLog | undefined,
): OnFinished {
  return ({ pending, status, bytes, rows }) => {
    const { grant, routeId, id, method, startedMs } = pending
    if (grant !== undefined) access.usage.note(grant.keyId, routeId, status, rows, bytes)
    const took = performance.now() - startedMs
    tally.note(routeId, status, took / 1000, bytes)
    if (pending.span !== undefined) endSpan(pending.span, { routeId, status, bytes, rows })
    if (log === undefined) return
    const ms = Math.round(took * 1000) / 1000
    const key = grant?.keyId ?? 'none'
    log.info({ id, method, route: routeId, status, ms, bytes, key }, 'request')
  }
}

type Answered = {
  readonly routeId: string
  readonly status: number
  readonly bytes: number
  readonly rows: number
}

// Named by route, never by address, which may hold a key.
function endSpan(span: RequestSpan, { routeId, status, bytes, rows }: Answered): void {
  span.rename(`HTTP ${routeId}`)
  const attributes = {
    'http.route': routeId,
    'http.response.status_code': status,
    'http.response.body.size': bytes,
    'priorbook.rows': rows,
  }
  span.end(attributes, status >= 500 ? `status ${status}` : undefined)
}
