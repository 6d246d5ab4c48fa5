import { toMicros, type Micros } from '@priorbook/sdk/domain'
import type { Store } from '../../store/store.ts'
import { createFormatChooser } from '../http/negotiate.ts'
import { createParamReader } from '../http/read-params.ts'
import { createCursorCodec } from '../cursor.ts'
import type { Answer, ApiContext, Grant } from '../route.ts'
import { createTestGrant, leasePage } from '../caller.testing.ts'
import { BULK_ROUTES } from '../routes/bulk.ts'

/** A download as its client gets it. */
type Download = {
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: AsyncIterable<Uint8Array>
}

/** Asks the routes of bulk without HTTP. */
export interface BulkCaller {
  /** The file of a query. */
  open(query: string, options?: CallOptions): Promise<Download>
  /** All bytes of it. */
  bytes(query: string, options?: CallOptions): Promise<Buffer>
  manifest(query: string, options?: CallOptions): Promise<Extract<Answer, { kind: 'data' }>>
}

/** Who asks, and until when. */
export type CallOptions = { readonly grant?: Grant; readonly signal?: AbortSignal }

/** A caller over a store; `now` is after all rows unless told. */
export function createBulkCaller(store: Store, now: number = Date.UTC(2027, 0) * 1000): BulkCaller {
  const context: ApiContext = {
    store,
    cursors: createCursorCodec([Buffer.from('a secret of tests')]),
    now: () => toMicros(now),
  }
  const call = async (index: number, query: string, options: CallOptions = {}): Promise<Answer> => {
    const route = BULK_ROUTES[index]!
    const values = createParamReader(route).query(query)
    return route.handle(
      {
        path: {},
        query: values,
        route: route.id,
        grant: options.grant ?? createTestGrant(),
        format: createFormatChooser(route)(undefined, values['format']),
        signal: options.signal ?? new AbortController().signal,
        leasePage,
      },
      context,
    )
  }
  const open = async (query: string, options?: CallOptions): Promise<Download> => {
    const answer = await call(0, query, options)
    if (answer.kind !== 'stream') throw new Error('a download is a stream')
    return { headers: {}, ...answer }
  }
  return {
    open,
    async bytes(query, options) {
      const { body } = await open(query, options)
      const pieces: Uint8Array[] = []
      for await (const piece of body) pieces.push(Buffer.from(piece))
      return Buffer.concat(pieces)
    },
    async manifest(query, options) {
      const answer = await call(1, query, options)
      if (answer.kind !== 'data') throw new Error('a manifest is data')
      return answer
    },
  }
}

/** A grant whose plan has a window. */
export function createWindowGrant(start: number): Grant {
  return createTestGrant({ windowStart: () => start as Micros })
}
