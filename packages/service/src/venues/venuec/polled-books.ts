import type { Clock } from '../../lib/clock.ts'
import type { CaptureSink } from '../capture/contract.ts'
import { noteLosses } from '../capture/note-losses.ts'
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
/** Max requests at a time. */
const BATCHES = 4
/** A book without an answer for this many intervals is closed. */
const MISSED = 3

/** Requests the books of tokens that no socket brings, one batch after the other. */
export class PolledBooks {
  readonly #options: PolledBooksOptions
  /** When each token was last answered; those that were not for longest are first. */
  readonly #answeredMs = new Map<string, number>()
  /** Tokens whose books are closed for want of answers. */
  readonly #lost = new Set<string>()

  constructor(options: PolledBooksOptions) {
    this.#options = options
  }

  /** Polls exactly these tokens from now on. */
  follow(tokens: ReadonlySet<string>): void {
    for (const token of this.#answeredMs.keys()) {
      if (tokens.has(token)) continue
      this.#answeredMs.delete(token)
      this.#lost.delete(token)
    }
    for (const token of tokens)
      if (!this.#answeredMs.has(token)) this.#answeredMs.set(token, -Infinity)
  }

  follows(token: string): boolean {
    return this.#answeredMs.has(token)
  }

  /** Requests the books that are due, some batches at a time, and closes those that are late. */
  async poll(signal: AbortSignal): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs()
    const due: string[] = []
    for (const [token, answeredMs] of this.#answeredMs) {
      if (due.length === BATCH * BATCHES || nowMs - answeredMs < this.#options.everyMs) break
      due.push(token)
    }
    const batches: string[][] = []
    for (let from = 0; from < due.length; from += BATCH) batches.push(due.slice(from, from + BATCH))
    await Promise.all(batches.map((batch) => this.#request(batch, signal)))
    this.#closeLate()
  }

  async #request(tokens: readonly string[], signal: AbortSignal): Promise<void> {
    const request = { kind: 'clob_books', polled: true }
    const body = tokens.map((token) => ({ token_id: token }))
    const call = { request, path: '/books', method: 'POST' as const, body }
    const answer = await this.#options.clob.send(call, signal)
    const answered = new Set<string>()
    for (const event of answer.ok ? answer.reading.events : []) {
      if (event.kind === 'snapshot') answered.add(event.instrument.key)
    }
    const nowMs = this.#options.clock.monotonicMs()
    for (const token of tokens) {
      const before = this.#answeredMs.get(token)
      if (before === undefined) continue
      if (answered.has(token)) this.#lost.delete(token)
      // Also without an answer it goes to the end, so that others get their turn.
      this.#answeredMs.delete(token)
      this.#answeredMs.set(token, answered.has(token) ? nowMs : before)
    }
  }

  #closeLate(): void {
    const { sink, clock, everyMs } = this.#options
    const nowMs = clock.monotonicMs()
    const late: string[] = []
    for (const [token, answeredMs] of this.#answeredMs) {
      // One that never had an answer has no book.
      const isLate = answeredMs !== -Infinity && nowMs - answeredMs > MISSED * everyMs
      if (isLate && !this.#lost.has(token)) late.push(token)
    }
    for (const token of late) this.#lost.add(token)
    noteLosses(sink, 'unavailable', 'polls had no answer', late)
  }
}
