import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { findBusiest } from '../api/busy-market.ts'

const ROWS = 40

/**
 * True once the busiest market of every emulated venue has rows to walk over, and trades and samples where the venue
 * has them: on a busy machine that may take a while.
 */
export async function hasEnough(store: Store): Promise<boolean> {
  for (const venue of EMULATED_VENUES) {
    const busiest = await findBusiest(store, venue)
    if (busiest?.isComplete !== true || busiest.rows < ROWS) return false
  }
  return true
}
