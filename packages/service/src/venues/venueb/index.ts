/** Venue B (Kalshi): from its own JSON to the words of Priorbook. */
export * from './catalog.ts'
export * from './native.ts'
export * from './normalize.ts'
export * from './orderbook.ts'
