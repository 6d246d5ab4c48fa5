import type { MarketRecord } from '@priorbook/sdk/domain'
import type { VenueAddress } from '../markets/addresses.ts'
import { findMarket } from '../markets/find.ts'
import { instrumentsOf, type MarketInstrument } from '../markets/instruments.ts'
import { chooseOutcomes } from '../pages/outcome-filter.ts'
import type { ApiContext, Grant } from '../route.ts'
import { cacheOf, type VenueCache } from './store-cache.ts'

/** The market of a request and its requested books. */
export type BookTarget = {
  readonly record: MarketRecord
  readonly instruments: readonly MarketInstrument[]
  /** Records and gaps of the venue, for this request. */
  readonly cache: VenueCache
}

/** Finds the market of a path and its books that match the filter. */
export async function findTarget(
  context: ApiContext,
  address: VenueAddress,
  request: {
    readonly path: Readonly<Record<string, string | undefined>>
    /** The requested tokens, for venues with one book per token. */
    readonly query: {
      readonly outcome?: string | undefined
      readonly token_id?: string | undefined
    }
    readonly grant: Grant
  },
): Promise<BookTarget> {
  const cache = await cacheOf(context.store, address.venue)
  const { path, grant, query } = request
  const found = findMarket(context, address, path, grant, (_, id) => cache.market(id))
  const { record } = found instanceof Promise ? await found : found
  const listed = instrumentsOf(context, record)
  const instruments = chooseOutcomes(listed instanceof Promise ? await listed : listed, query)
  return { record, instruments, cache }
}
