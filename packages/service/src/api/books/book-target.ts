import type { MarketRecord } from '@priorbook/sdk/domain'
import { chooseOutcomes } from '../pages/outcome-filter.ts'
import { findMarket } from '../markets/find.ts'
import { instrumentsOf, type MarketInstrument } from '../markets/instruments.ts'
import type { ApiContext, Grant } from '../route.ts'
import type { VenueAddress } from '../markets/addresses.ts'

import { StoreMemory, type VenueMemory } from './store-memory.ts'

/** The market of a request and its requested books. */
export type BookTarget = {
  readonly record: MarketRecord
  readonly instruments: readonly MarketInstrument[]
  readonly memory: StoreMemory
  /** Records and gaps of the venue, for this request. */
  readonly known: VenueMemory
}

/** The requested tokens, for venues with one book per token. */
export type TokenFilter = {
  readonly outcome?: string | undefined
  readonly token_id?: string | undefined
}

/** Finds the market of a path and its books that match the filter. */
export async function findTarget(
  context: ApiContext,
  address: VenueAddress,
  request: {
    readonly path: Readonly<Record<string, string | undefined>>
    readonly query: TokenFilter
    readonly grant: Grant
  },
): Promise<BookTarget> {
  const memory = StoreMemory.of(context.store)
  const known = await memory.recall(address.venue)
  const { path, grant } = request
  const { record } = await findMarket(context, address, path, grant, (_, id) => known.market(id))
  const all = await instrumentsOf(context, record)
  const instruments = chooseOutcomes(all, request.query)
  return { record, instruments, memory, known }
}
