/** Live rows: from the store to many readers, each row encoded once per style. */
export type { LiveStyle, MessageEncoder, ResyncReason } from './encoder.ts'
export { Hub } from './hub.ts'
export { Subscriber, type Sink, type SubscriberLimits } from './subscriber.ts'
export type { Subscription } from './subscription.ts'
