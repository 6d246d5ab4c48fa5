import type { BookSnapshot } from '@priorbook/sdk/domain'
import type { BookRelation, CaptureSink } from '../capture/contract.ts'
import { sleep } from '../../lib/wait.ts'
import type { Rest } from '../capture/rest.ts'
import type { WatchedToken } from './token-watch.ts'

/** How an answer of GET /book relates to the book that the socket tells. */
export type Comparison =
  | Exclude<BookRelation, 'ahead'>
  /** The answer is newer than the socket, and the socket does not follow. */
  | 'newer'
  | 'failed'

/** Asks for full books and compares them with those that the recorder built from the socket. */
export interface BookClient {
  /** `refuse` is called when an answer is there; a reason that it gives discards the answer. */
  compare(
    token: WatchedToken,
    urgent: boolean,
    refuse: () => string | undefined,
    signal: AbortSignal,
  ): Promise<Comparison>
}

// The changes that lead to an answer may still be under way on the socket.
const SETTLE_MS = 400

/** Creates the client of books. The answers go to the journal, whatever the comparison says. */
export function createBookClient(rest: Rest, sink: Pick<CaptureSink, 'book'>): BookClient {
  const relate = (book: BookSnapshot): BookRelation =>
    sink.book(book.instrument.key)?.relate(book) ?? 'first'

  return {
    async compare({ instrument }, urgent, refuse, signal) {
      const { key, market } = instrument
      const request = { kind: 'clob_book', token_id: key, condition_id: market }
      const query = { token_id: key }
      const answer = await rest.send({ request, path: '/book', query, urgent, refuse }, signal)
      const [book] = answer.ok ? answer.reading.events : []
      if (book?.kind !== 'snapshot') return 'failed'
      const relation = relate(book)
      if (relation !== 'ahead') return relation
      await sleep(SETTLE_MS, signal)
      const settled = relate(book)
      return settled === 'ahead' ? 'newer' : settled
    },
  }
}
