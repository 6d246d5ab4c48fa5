/** Venue B (Kalshi): its normalizer and the connector that records it. */
export * from './catalog.ts'
export * from './connector.ts'
export * from './native.ts'
export * from './normalize.ts'
