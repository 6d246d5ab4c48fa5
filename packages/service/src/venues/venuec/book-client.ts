import { PriorbookError, type BookSnapshot } from '@priorbook/sdk/domain'
import type { CaptureSink, Normalizer } from '../capture/contract.ts'
import { sleep } from '../../lib/wait.ts'
import type { Rest } from '../capture/rest.ts'
import type { WatchedToken } from './token-watch.ts'

/** How an answer of GET /book relates to the book that the socket tells. */
export type Comparison =
  /** The book was in this state lately: nothing is missing. */
  | 'same'
  /** The answer is older than the socket, as stale "ghost" books are; it says nothing. */
  | 'older'
  /** There was no book to compare with, and now there is. */
  | 'first'
  /** The answer is from a time that the socket told of, and the socket told something else. */
  | 'differs'
  /** The answer is newer than what the socket told, and the socket does not follow. */
  | 'newer'
  | 'failed'

/** Asks for full books and compares them with what the socket told. */
export interface BookClient {
  /** `refuse` says why the answer must not count, once it is there. */
  compare(
    token: WatchedToken,
    urgent: boolean,
    refuse: () => string | undefined,
    signal: AbortSignal,
  ): Promise<Comparison>
}

// What the answer already knows may still be under way on the socket.
const SETTLE_MS = 400

/** Creates the client of books. The answers go to the journal, whatever the comparison says. */
export function createBookClient(
  rest: Rest,
  normalizer: Normalizer,
  sink: CaptureSink,
): BookClient {
  async function ask(
    token: WatchedToken,
    urgent: boolean,
    refuse: () => string | undefined,
    signal: AbortSignal,
  ): Promise<BookSnapshot | undefined> {
    const { key, market } = token.instrument
    const request = { kind: 'clob_book', token_id: key, condition_id: market }
    const query = { token_id: key }
    const answer = await rest.ask({ request, path: '/book', query, urgent, refuse }, signal)
    if (!answer.ok) return undefined
    try {
      const at = { received: sink.now(), journal: 0 }
      const [book] = normalizer.answer(request, answer.value, at).events
      return book?.kind === 'snapshot' ? book : undefined
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      return undefined
    }
  }

  return {
    async compare(token, urgent, refuse, signal) {
      const book = await ask(token, urgent, refuse, signal)
      if (book === undefined) return 'failed'
      const ours = token.book
      if (!ours.isKnown) {
        ours.replace(book)
        return 'first'
      }
      const relation = ours.relate(book)
      if (relation !== 'ahead') return relation
      await sleep(SETTLE_MS, signal)
      const settled = ours.relate(book)
      if (settled !== 'ahead') return settled
      ours.replace(book)
      return 'newer'
    },
  }
}
