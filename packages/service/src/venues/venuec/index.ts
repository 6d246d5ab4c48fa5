/** Venue C (Polymarket): from its own JSON to the words of Priorbook, and the connection to it. */
export * from './connector.ts'
export * from './normalize.ts'
export * from './options.ts'
