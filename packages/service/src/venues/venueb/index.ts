/** Venue B (Kalshi): from its own JSON to the words of Priorbook, and the connector that brings it. */
export * from './catalog.ts'
export * from './connector.ts'
export * from './native.ts'
export * from './normalize.ts'
export * from './normalizer.ts'
export * from './orderbook.ts'
