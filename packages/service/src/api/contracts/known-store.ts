import { toMicros, type Micros } from '@priorbook/sdk/domain'
import { asKnownAt } from '../../rows/index.ts'
import type { InstrumentFacts, StoreReader } from '../../store/store.ts'
import type { ApiContext } from '../route.ts'

/** A context whose store has nothing that was received after a time; the same one where none is given. */
export function asKnown(context: ApiContext, knownAt: Micros | undefined): ApiContext {
  if (knownAt === undefined) return context
  return { ...context, store: storeAsKnown(context.store, knownAt) }
}

/** The end of what a request can see: now, or the time at which something was to be known. */
export function presentOf(
  { now }: Pick<ApiContext, 'now'>,
  { known_at: knownAt }: { readonly known_at?: Micros | undefined },
): Micros {
  const present = now()
  // What was received at that time is known.
  return knownAt === undefined || knownAt >= present ? present : toMicros(knownAt + 1)
}

// Lists of markets are those of now: which record a market had then is read market by market.
function storeAsKnown(store: StoreReader, knownAt: number): StoreReader {
  return {
    ...store,
    market: (venue, marketId, at = knownAt) => store.market(venue, marketId, Math.min(at, knownAt)),
    revisions: async (venue, marketId, page) => {
      const states = await store.revisions(venue, marketId, page)
      return states.filter((state) => state.knownAt <= knownAt)
    },
    instrument: async (ref) => cut(await store.instrument(ref), knownAt),
    instrumentsOf: async (venue, marketId) => {
      const all = await store.instrumentsOf(venue, marketId)
      return all.flatMap((facts) => cut(facts, knownAt) ?? [])
    },
    books: (query) => store.books({ ...query, knownAt }),
    booksByInterval: (query) => store.booksByInterval({ ...query, knownAt }),
    asOf: async (query) => {
      const { gap, ...found } = await store.asOf({ ...query, knownAt })
      const [known] = gap === undefined ? [] : asKnownAt(gap, knownAt)
      return known === undefined ? found : { ...found, gap: known }
    },
    gaps: async (query) => {
      const gaps = await store.gaps(query)
      return gaps.flatMap((gap) => asKnownAt(gap, knownAt))
    },
  }
}

function cut(facts: InstrumentFacts | undefined, knownAt: number): InstrumentFacts | undefined {
  if (facts === undefined || facts.firstReceived > knownAt) return undefined
  return { ...facts, lastReceived: Math.min(facts.lastReceived, knownAt) }
}
