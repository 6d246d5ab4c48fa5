// A process that lived this long starts again after the shortest pause.
const STEADY_MS = 60_000

/** How long to wait before a process that ended is started again: twice as long each time, unless it had been steady. */
export class RestartPause {
  readonly #minMs: number
  readonly #maxMs: number
  #pauseMs: number

  constructor(minMs: number, maxMs: number) {
    this.#minMs = minMs
    this.#maxMs = maxMs
    this.#pauseMs = minMs
  }

  /** The pause after a process that lived this long. */
  after(livedMs: number): number {
    const isSteady = livedMs > STEADY_MS
    this.#pauseMs = isSteady ? this.#minMs : Math.min(this.#maxMs, this.#pauseMs * 2)
    return this.#pauseMs
  }
}
