/** Live rows: from the store to many readers, each row written once. */
export { Hub, type HubOptions } from './hub.ts'
export { joinAll, type Resume } from './join.ts'
export type { LiveMarket, LiveSource } from './source.ts'
export type { LeftOut, LiveStyle, LiveText } from './style.ts'
export { Subscriber, SUBSCRIBER_LIMITS, type Sink, type SubscriberLimits } from './subscriber.ts'
export type { Subscription } from './subscription.ts'
export type { Topic } from './topic.ts'
