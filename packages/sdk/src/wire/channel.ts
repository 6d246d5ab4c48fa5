import { ABSENT } from '../tape/index.ts'

// A channel of the tape is the connection's number (0 for imported rows) × this, plus the venue's own
// number of the subscription on it (0 where the venue has none).
const SUBSCRIPTIONS = 65_536

/** The venue's own number of the subscription in a channel of the tape; 0 where it has none. */
export function subscriptionOf(channel: number): number {
  return channel === ABSENT ? 0 : channel % SUBSCRIPTIONS
}

/** Our number of the connection in a channel of the tape; 0 where it is not known. */
export function connectionOf(channel: number): number {
  return channel === ABSENT ? 0 : Math.floor(channel / SUBSCRIPTIONS)
}
