import type { Store } from '../../packages/service/src/store/store.ts'
import { makePlan, planSeed, type Plan } from './plan.ts'

/** Memory for a few decoded chunks, because one read may come to the same chunk twice, and no more. */
export const COLD_CACHE_BYTES = 500_000

/** The plan of reads for what a store holds. */
export async function planStore(store: Store): Promise<Plan> {
  const facts = await store.instruments()
  return makePlan(
    planSeed,
    facts.map(({ instrument, lastSequence, firstReceived, lastReceived }) => ({
      ticker: instrument.key,
      count: lastSequence,
      firstReceived,
      lastReceived,
    })),
  )
}
