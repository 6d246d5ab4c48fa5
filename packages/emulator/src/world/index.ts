/** The emulated markets: seeded, stepped, the same bytes for the same seed and start. */
export { DEFAULT_MARKETS } from './families.ts'
export type { MarketRates } from './market.ts'
export { createRandom, type Random } from './random.ts'
export { createWorld, STEP_MS, type SteppedWorld } from './world.ts'
