/** The wire: what the service sends and the client reads. Pages of books as JSON, NDJSON and CSV. */
export * from './account.ts'
export * from './book-schema.ts'
export * from './changes.ts'
export * from './coverage.ts'
export { CSV_COLUMNS, LADDER_COLUMNS, TRUNCATED } from './dialect.ts'
export * from './envelope.ts'
export * from './event.ts'
export * from './execution.ts'
export * from './from-json.ts'
export * from './gap.ts'
export * from './json-schema.ts'
export * from './json-values.ts'
export * from './manifest.ts'
export * from './market.ts'
export * from './market-particular.ts'
export * from './page.ts'
export * from './parity.ts'
export * from './price-history.ts'
export * from './problems.ts'
export * from './proof.ts'
export * from './reference.ts'
export * from './render.ts'
export * from './routes/index.ts'
export * from './stream.ts'
export * from './trade-sample.ts'
export type { TimeFormat } from './value-text.ts'
export {
  VENUE_WIRE,
  type VenueAMarketJson,
  type VenueBMarketJson,
  type VenueCMarketJson,
} from './venues/index.ts'
