/** Live rows: from the store to many readers, each row encoded once per style. */
export type { LiveStyle, MessageEncoder, ResyncReason } from './encoder.ts'
export { Hub, type HubOptions } from './hub.ts'
export { Subscriber, SUBSCRIBER_LIMITS, type Sink, type SubscriberLimits } from './subscriber.ts'
export type { ResumePoints, Subscription } from './subscription.ts'
