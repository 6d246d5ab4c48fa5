import type { Clock } from '../../lib/clock.ts'
import type { Hub } from '../../live/hub.ts'
import type { ReferenceHub } from '../../live/reference-hub.ts'
import type { SubscriberLimits } from '../../live/subscriber.ts'
import type { Access } from '../auth/access.ts'
import type { RequestLog } from '../http/log.ts'
import type { ApiContext } from '../route.ts'

/** What all sessions of one store share. */
export type SessionServices = {
  readonly hub: Hub
  readonly references: ReferenceHub
  readonly context: ApiContext
  readonly access: Access
  readonly log: RequestLog | undefined
  readonly clock: Clock
  readonly timing: StreamTiming
  readonly limits: Partial<SubscriberLimits>
}

/** The intervals and timeouts of a session, in milliseconds. */
export type StreamTiming = {
  /** How long a connection may stay without a key. */
  readonly authMs: number
  readonly heartbeatMs: number
  /** How often a client is pinged; two unanswered pings end the connection. */
  readonly pingMs: number
  /** After this long without a pong, a client that was sent much counts as far behind. */
  readonly farMs: number
}

/** The timing of the service. */
export const STREAM_TIMING: StreamTiming = {
  authMs: 5000,
  heartbeatMs: 10_000,
  pingMs: 15_000,
  farMs: 3500,
}
