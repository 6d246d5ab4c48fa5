import { setTimeout as rest } from 'node:timers/promises'

/** Keeps to a share of the time, so that a recorder beside it has its cores. */
export class Pace {
  readonly #share: number
  readonly #signal: AbortSignal | undefined
  #startedMs = performance.now()

  constructor({ share = 1, signal }: { readonly share?: number; readonly signal?: AbortSignal }) {
    this.#share = share
    this.#signal = signal
  }

  /** Call after a step of work: rests for its share. */
  async step(): Promise<void> {
    this.#signal?.throwIfAborted()
    if (this.#share >= 1) return
    const worked = performance.now() - this.#startedMs
    const limits = this.#signal === undefined ? {} : { signal: this.#signal }
    await rest(worked / this.#share - worked, undefined, limits)
    this.#startedMs = performance.now()
  }
}
