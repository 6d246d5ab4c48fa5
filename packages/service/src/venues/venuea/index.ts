/** Venue A (Binance Wallet Prediction, vendor Predict.fun): its normalizer, connector and backfill. */
export * from './normalize.ts'
export * from './connector.ts'
export * from './backfill.ts'
export type { FamilyCounts } from './backfill-family.ts'
export * from './floors.ts'
export { isComplete } from './past.ts'
