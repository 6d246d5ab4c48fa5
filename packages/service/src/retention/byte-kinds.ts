import { statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { journalBytes } from '../journal/index.ts'
import type { ByteKind } from '../lib/byte-kind.ts'
import { Pace } from '../lib/pace.ts'
import { KEPT_START, type EmbeddedStore, type KeptPlace } from '../store/embedded/open.ts'

/** What an installation takes, by kind. */
export type ByteKinds = {
  readonly bytes: Readonly<Record<ByteKind, number>>
  /** Book rows in chunks, wherever they are. */
  readonly observations: number
  /** All bytes together for one of them; absent where there is none. */
  readonly bytesPerObservation?: number
}

/** What is surveyed. */
export type ByteKindsOptions = {
  readonly store: Pick<EmbeddedStore, 'surveyBytes'>
  readonly journalDir: string
  readonly tapeFile: string
  /** Max share of the process's time: all of it by default. */
  readonly share?: number
}

const EVERY_MS = 600_000

/** Adds up what an installation takes, in small steps. */
export async function readByteKinds(
  { store, journalDir, tapeFile, share = 1 }: ByteKindsOptions,
  signal?: AbortSignal,
): Promise<ByteKinds> {
  const sum = { tape: 0, packed: 0, elsewhere: 0 }
  let observations = 0
  const pace = new Pace({ share, ...(signal !== undefined && { signal }) })
  for (let at: KeptPlace | undefined = KEPT_START; at !== undefined;) {
    const step = await store.surveyBytes(at)
    sum.tape += step.tape
    sum.packed += step.packed
    sum.elsewhere += step.elsewhere
    observations += step.observations
    at = step.next
    await pace.step()
  }
  const journal = journalBytes(journalDir)
  const database = sizeOf(tapeFile) + sizeOf(`${tapeFile}-wal`)
  const bytes = {
    raw: journal.raw,
    archived: journal.archived,
    tape: Math.round(sum.tape),
    packed: Math.round(sum.packed),
    index: Math.max(0, Math.round(database - sum.tape - sum.packed)),
    elsewhere: Math.round(sum.elsewhere) + journal.elsewhere,
  }
  const all = Object.values(bytes).reduce((total, one) => total + one, 0)
  return observations === 0
    ? { bytes, observations }
    : { bytes, observations, bytesPerObservation: all / observations }
}

/** Surveys again and again until it is stopped. */
export class ByteSurvey {
  readonly #options: ByteKindsOptions
  #last: ByteKinds | undefined

  constructor(options: ByteKindsOptions) {
    this.#options = options
  }

  /** What the last survey found; absent before the first has ended. */
  status(): ByteKinds | undefined {
    return this.#last
  }

  /** Trouble with the tape is told by others; the last survey stays. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        this.#last = await readByteKinds(this.#options, signal)
      } catch {
        if (signal.aborted) return
      }
      await pause(EVERY_MS, undefined, { signal }).catch(() => undefined)
    }
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
