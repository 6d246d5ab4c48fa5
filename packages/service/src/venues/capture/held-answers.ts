import type { Micros } from '@priorbook/sdk/domain'
import type { CaptureRequest, CaptureSink } from './contract.ts'

/** An answer that is not journaled yet. */
export type HeldAnswer = {
  readonly received: Micros
  readonly bytes: Uint8Array
  readonly value: unknown
}

/**
 * Holds answers back until it is known what they are worth: which part of a list they show completely, and in
 * which order they go to the journal. Notes pass at once.
 */
export class HeldAnswers {
  /** The sink for the client whose answers are held. */
  readonly sink: CaptureSink
  readonly #target: CaptureSink
  #held: HeldAnswer | undefined

  constructor(target: CaptureSink) {
    this.#target = target
    this.sink = {
      now: () => target.now(),
      steadyNow: () => target.steadyNow(),
      position: () => target.position(),
      frame: (slot, received, bytes, parsed) => target.frame(slot, received, bytes, parsed),
      note: (note) => target.note(note),
      isFull: () => target.isFull?.() === true,
      book: (key) => target.book(key),
      answer: (_request, received, bytes, value) => {
        this.#held = { received, bytes, value }
        return { events: [], problems: [] }
      },
    }
  }

  /** The answer that came last, which is held no longer. */
  take(): HeldAnswer | undefined {
    const held = this.#held
    this.#held = undefined
    return held
  }

  /** Journals an answer, with the request that says what it is worth. */
  release(request: CaptureRequest, { received, bytes, value }: HeldAnswer): void {
    this.#target.answer(request, received, bytes, value)
  }
}
