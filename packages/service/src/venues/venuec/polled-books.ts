import type { Clock } from '../../lib/clock.ts'
import type { CaptureSink } from '../capture/contract.ts'
import type { Rest } from '../capture/rest.ts'

/** What polling books needs. */
export type PolledBooksOptions = {
  readonly clob: Rest
  readonly sink: Pick<CaptureSink, 'note'>
  readonly clock: Clock
  /** The shortest time between two polls of one book. */
  readonly everyMs: number
}

/** Tokens of one request. */
const BATCH = 50
/** A book without an answer for this many intervals is closed. */
const MISSED = 3

/** Requests the books of tokens that no socket brings, one batch after the other. */
export class PolledBooks {
  readonly #options: PolledBooksOptions
  /** When each token was last answered; those that were not for longest are first. */
  readonly #answeredMs = new Map<string, number>()
  readonly #isLost = new Set<string>()

  constructor(options: PolledBooksOptions) {
    this.#options = options
  }

  /** Polls exactly these tokens from now on. */
  follow(tokens: ReadonlySet<string>): void {
    for (const token of this.#answeredMs.keys()) {
      if (tokens.has(token)) continue
      this.#answeredMs.delete(token)
      this.#isLost.delete(token)
    }
    for (const token of tokens)
      if (!this.#answeredMs.has(token)) this.#answeredMs.set(token, -Infinity)
  }

  /** Requests one batch of the books that are due. */
  async poll(signal: AbortSignal): Promise<void> {
    const { clob, everyMs } = this.#options
    const nowMs = this.#options.clock.monotonicMs()
    const due: string[] = []
    for (const [token, answeredMs] of this.#answeredMs) {
      if (due.length === BATCH || nowMs - answeredMs < everyMs) break
      due.push(token)
    }
    if (due.length === 0) return
    const request = { kind: 'clob_books', polled: true }
    const body = due.map((token) => ({ token_id: token }))
    const answer = await clob.send({ request, path: '/books', method: 'POST', body }, signal)
    const named = new Set<string>()
    for (const event of answer.ok ? answer.reading.events : []) {
      if (event.kind === 'snapshot') named.add(event.instrument.key)
    }
    this.#note(due, named)
  }

  #note(asked: readonly string[], answered: ReadonlySet<string>): void {
    const { sink, clock, everyMs } = this.#options
    const nowMs = clock.monotonicMs()
    const lost: string[] = []
    for (const token of asked) {
      const before = this.#answeredMs.get(token)
      if (before === undefined) continue
      if (answered.has(token)) this.#isLost.delete(token)
      else if (nowMs - before > MISSED * everyMs && !this.#isLost.has(token)) lost.push(token)
      // Also without an answer it goes to the end, so that others get their turn.
      this.#answeredMs.delete(token)
      this.#answeredMs.set(token, answered.has(token) ? nowMs : before)
    }
    for (const token of lost) this.#isLost.add(token)
    if (lost.length === 0) return
    sink.note({ note: 'loss', reason: 'unavailable', why: 'polls had no answer', keys: lost })
  }
}
