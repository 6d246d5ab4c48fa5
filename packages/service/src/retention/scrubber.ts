import { setTimeout as pause } from 'node:timers/promises'
import { SCRUB_START, type EmbeddedStore, type ScrubPlace } from '../store/embedded/open.ts'
import type { InstrumentRef } from '../store/store.ts'

/** How fast damage is looked for, in milliseconds. */
type ScrubPace = {
  /** Between two steps of at most 256 kB: 2.5 MB a second. */
  readonly stepMs: number
  /** Between two rounds over the whole tape. */
  readonly roundMs: number
}

type ScrubbedStore = Pick<EmbeddedStore, 'scrub' | 'scrubInstrument' | 'coldCounts' | 'gaps'>

type Log = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

const PACE: ScrubPace = { stepMs: 100, roundMs: 600_000 }
// Max instruments that wait to be looked at; a round finds the others.
const MAX_ASKED = 1000

/** Looks for damaged chunks in the background, so that lists of gaps, coverage and replay know them. */
export class Scrubber {
  readonly #store: ScrubbedStore
  readonly #pace: ScrubPace
  readonly #asked = new Map<string, InstrumentRef>()
  readonly #known = new Set<string>()

  constructor(store: ScrubbedStore, pace: Partial<ScrubPace> = {}) {
    this.#store = store
    this.#pace = { ...PACE, ...pace }
  }

  /** Looks at an instrument with the next step: a reader met damage there. */
  ask(ref: InstrumentRef): void {
    if (this.#asked.size < MAX_ASKED) this.#asked.set(`${ref.venue}:${ref.key}`, ref)
  }

  /** Goes round and round until it is stopped; trouble is logged and tried again. */
  async run(signal: AbortSignal, log: Log): Promise<void> {
    let at: ScrubPlace | undefined = SCRUB_START
    let rested = 0
    while (!signal.aborted) {
      try {
        await this.#lookAtAsked(log)
        if (at === SCRUB_START) await this.#askDamaged()
        if (at !== undefined) {
          const { next, damaged } = await this.#store.scrub(at)
          this.#tell(damaged, log)
          at = next
          rested = 0
        } else if ((rested += this.#pace.stepMs) >= this.#pace.roundMs) at = SCRUB_START
      } catch (error) {
        if (signal.aborted) return
        const detail = error instanceof Error ? error.message : String(error)
        log.warn({ error: detail }, 'the search for damage failed: it is tried again')
        at = undefined
      }
      await pause(this.#pace.stepMs, undefined, { signal }).catch(() => undefined)
    }
  }

  // A round does not read other storage, which may have found again what it had lost.
  async #askDamaged(): Promise<void> {
    const { segments } = await this.#store.coldCounts()
    if (segments === 0) return
    for (const gap of await this.#store.gaps({ reason: 'corrupt', limit: MAX_ASKED })) {
      if (gap.journal === 0 && gap.scope === 'instrument') this.ask(gap)
    }
  }

  async #lookAtAsked(log: Log): Promise<void> {
    for (const [name, ref] of this.#asked) {
      this.#asked.delete(name)
      this.#tell(await this.#store.scrubInstrument(ref), log)
    }
  }

  #tell(damaged: readonly string[], log: Log): void {
    for (const chunk of damaged) {
      if (this.#known.has(chunk)) continue
      if (this.#known.size < MAX_ASKED) this.#known.add(chunk)
      log.warn({ chunk }, 'a chunk is damaged: a gap is in its place; rebuild derives it again')
    }
  }
}
