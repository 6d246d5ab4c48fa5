import type { Tracing } from '../lib/tracing.ts'
import { withMethods } from '../lib/with-methods.ts'
import type { InstrumentRef, StoreReader } from '../store/store.ts'

// What reads rows; other calls are short.
const READS = ['books', 'booksByInterval', 'asOf', 'latest', 'trades', 'samples'] as const

/** A store whose reads of rows are traced. */
export function traceReads(store: StoreReader, tracing: Tracing): StoreReader {
  const traced: Record<string, unknown> = {}
  for (const name of READS) {
    const read = store[name].bind(store) as (query: InstrumentRef) => Promise<unknown>
    traced[name] = async (query: InstrumentRef) => {
      const span = tracing.span(`store ${name}`, {
        'priorbook.venue': query.venue,
        'priorbook.key': query.key,
      })
      try {
        const result = await read(query)
        span.end()
        return result
      } catch (error) {
        span.end({}, error instanceof Error ? error.message : String(error))
        throw error
      }
    }
  }
  return withMethods<StoreReader>(store, traced)
}
