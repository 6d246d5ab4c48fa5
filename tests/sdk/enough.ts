import { VENUES } from '../../packages/sdk/src/domain/index.ts'
import type { EmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { EMULATED_VENUES } from '../../packages/emulator/src/venues/registry.ts'

const ROWS = 40

/**
 * True once the busiest market of every emulated venue among those that were there before the recorder has rows
 * to walk over, and trades where the venue has them: on a busy machine that may take a while.
 */
export async function hasEnough(store: EmbeddedStore): Promise<boolean> {
  for (const venue of EMULATED_VENUES) {
    const gaps = [
      ...(await store.gaps({ venue, reason: 'before_capture' })),
      ...(await store.gaps({ venue, reason: 'late_discovery' })),
    ]
    const keys = new Set(gaps.map(({ key }) => key))
    const facts = (await store.instruments(venue))
      .filter(({ instrument }) => keys.has(instrument.key))
      .toSorted((a, b) => b.lastSequence - a.lastSequence)
    const [busiest] = facts
    if (busiest === undefined || busiest.lastSequence < ROWS) return false
    if (!VENUES[venue].hasTrades) continue
    const { key } = busiest.instrument
    const { ordinals } = await store.trades({ venue, key, order: 'asc', limit: 1 })
    if (ordinals.length === 0) return false
  }
  return true
}
