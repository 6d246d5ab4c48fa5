import { GAP_REASONS, isLastStatus, PriorbookError } from '@priorbook/sdk/domain'
import type { Gap, GapReason, VenueId } from '@priorbook/sdk/domain'
import type { StoreReader } from '../store/store.ts'
import type { UnresolvedMarket } from '../venues/capture/contract.ts'

/** Max open gaps of a reason that a start reads; books of others look for their own. */
const OPEN_GAPS_READ = 100_000

/** Reads the open gaps of all books that have not ended, with a statement a reason. */
export async function readOpenGaps(store: StoreReader, venue: VenueId): Promise<readonly Gap[]> {
  const found: Gap[] = []
  for (const reason of Object.keys(GAP_REASONS) as GapReason[]) {
    if (reason === 'market_closed') continue
    const gaps = await store.gaps({ venue, reason, open: true, limit: OPEN_GAPS_READ })
    for (const gap of gaps) found.push(gap)
  }
  return found
}

/**
 * The books that an earlier run left in a gap although their market is over for good, as where it stopped before
 * they could be ended. Nothing that is still to come names them, so nothing else ends them.
 */
export async function readLeftBooks(
  store: StoreReader,
  venue: VenueId,
  unresolved: readonly UnresolvedMarket[],
): Promise<readonly string[]> {
  const going = new Set(unresolved.flatMap(keysOf))
  const keys = new Set<string>()
  for (const { scope, key } of await readSoundGaps(store, venue)) {
    if (scope === 'instrument' && !going.has(key)) keys.add(key)
  }
  const left: string[] = []
  for (const key of keys) {
    const facts = await store.instrument({ venue, key })
    if (facts === undefined) continue
    const market = await store.market(venue, facts.instrument.market)
    if (isLastStatus(market?.record.status ?? '')) left.push(key)
  }
  return left
}

// Books whose market goes on are found by it, which for tens of thousands is cheaper than to read each.
function keysOf({ marketId, facts }: UnresolvedMarket): string[] {
  return [marketId, ...(facts?.outcomes ?? []).flatMap(({ tokenId }) => tokenId ?? [])]
}

// A damaged gap stops no start. `verify` names it, and the next start after its repair ends what is left.
async function readSoundGaps(store: StoreReader, venue: VenueId): Promise<readonly Gap[]> {
  try {
    return await readOpenGaps(store, venue)
  } catch (error) {
    if (error instanceof PriorbookError && error.code === 'corrupt_row') return []
    throw error
  }
}
