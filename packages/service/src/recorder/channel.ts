import { ABSENT } from '@priorbook/sdk/tape'

// A channel of the tape combines the connection's epoch (the journal record that noted it) with the
// venue's number of the subscription. Imported messages have no epoch, only the number.
const SUBSCRIPTIONS = 65_536

/** The channel of a subscription on a connection. */
export function toChannel(epoch: number, subscription: number | undefined): number {
  return epoch * SUBSCRIPTIONS + ((subscription ?? 0) % SUBSCRIPTIONS)
}

/** The connection that a channel belongs to; 0 for imported messages and answers. */
export function toEpoch(channel: number): number {
  return channel === ABSENT ? 0 : Math.floor(channel / SUBSCRIPTIONS)
}

/** The venue's own number of the subscription. */
export function toSubscription(channel: number): number {
  return channel % SUBSCRIPTIONS
}
