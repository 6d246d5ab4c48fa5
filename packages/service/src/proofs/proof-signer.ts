import { setTimeout as pause } from 'node:timers/promises'
import { DAY_MICROS, startOfDay, printMicros, type Micros } from '@priorbook/sdk/domain'
import { restBetween } from '../lib/wait.ts'
import type { EmbeddedStore } from '../store/embedded/open.ts'
import { ProofBook, type SignedRoot } from './proof-book.ts'
import { ProofDatabase } from './proof-database.ts'
import { openProofKey } from './proof-key.ts'
import { RootWriter } from './root-writer.ts'

const MINUTE = 60_000_000
// How often chunks are collected and days are looked at.
const EVERY_MS = 30_000
// Chunks that are sealed after their day was signed wait for one another, so that amendments stay few.
const AMEND_AFTER = 60 * MINUTE

/** What a signer works on. */
export type SignerOptions = {
  readonly store: EmbeddedStore
  /** The data folder. */
  readonly folder: string
  /** How long after the end of a day its root is signed, in milliseconds. */
  readonly delayMs: number
  /** How long trees of days and unsigned chunks stay, in microseconds; for ever where it is absent. */
  readonly ageMicros?: number | undefined
  /** How long to leave the process to others between two steps; 0 only gives way. */
  readonly restMs?: number
  /** The time in microseconds. */
  now?(): number
}

type Log = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/** Collects sealed chunks and signs the roots of days that are over, in small steps. */
export class ProofSigner {
  readonly #options: SignerOptions
  readonly #book: ProofBook
  readonly #writer: RootWriter
  readonly publicKey: string
  /** True where roots exist, but none of this key: it is new, or another one was put in its place. */
  readonly isKeyChanged: boolean

  constructor(options: SignerOptions) {
    this.#options = options
    const key = openProofKey(options.folder)
    this.publicKey = key.publicKey
    this.#book = new ProofBook(new ProofDatabase(options.folder, false))
    const last = this.#book.newest()
    this.isKeyChanged = last !== undefined && last.key !== key.publicKey
    this.#writer = new RootWriter(this.#book, key, this.#now())
  }

  close(): void {
    this.#book.close()
  }

  /** Collects chunks, signs what is due and removes what is too old; `isEager` does not wait for more amendments. */
  async pass(isEager = false, signal?: AbortSignal): Promise<readonly SignedRoot[]> {
    await this.#collect(signal)
    const signed: SignedRoot[] = []
    for (const day of this.#writer.waitingDays()) {
      if (!(await this.#isDue(day, isEager, signal))) continue
      const root = await this.#writer.sign(
        day,
        () => this.#now(),
        () => this.#rest(signal),
      )
      if (root !== undefined) signed.push(root)
    }
    const { ageMicros } = this.#options
    if (ageMicros !== undefined) {
      await this.#writer.removeBefore(this.#now() - ageMicros, () => this.#rest(signal))
    }
    return signed
  }

  /** Collects and signs until it is stopped; trouble is logged and tried again. */
  async run(signal: AbortSignal, log: Log): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#packEnded()
        for (const { day, number, size, root } of await this.pass(false, signal)) {
          const text = printMicros(day as Micros).slice(0, 10)
          log.info({ day: text, number, chunks: size, root }, 'signed the root of a day')
        }
      } catch (error) {
        if (signal.aborted) return
        const detail = error instanceof Error ? error.message : String(error)
        log.warn({ error: detail }, 'the root of a day could not be signed: it is tried again')
      }
      await pause(EVERY_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  async #collect(signal?: AbortSignal): Promise<void> {
    const { store } = this.#options
    for (let step = await store.readSealed(); step !== undefined; step = await store.readSealed()) {
      // Noted first: a process that ends in between reads and notes the same chunks again.
      this.#writer.note(step.chunks, this.#now())
      await store.forgetSealed(step)
      await this.#rest(signal)
    }
  }

  // Rows of a day that is over leave the log, so that full chunks of them are sealed.
  async #packEnded(): Promise<void> {
    const now = this.#now()
    const today = startOfDay(now)
    if (now - today < this.#delay / 2) return
    await this.#options.store.packBefore(today)
  }

  // When chunks were noted is asked only where it counts: not of today, in which nearly all of them wait.
  async #isDue(day: number, isEager: boolean, signal?: AbortSignal): Promise<boolean> {
    const now = this.#now()
    if (now < day + DAY_MICROS + this.#delay) return false
    if (isEager || this.#book.rootsOf(day).length === 0) return true
    const since = await this.#writer.waitingSince(day, () => this.#rest(signal))
    return since !== undefined && now - since >= AMEND_AFTER
  }

  get #delay(): number {
    return this.#options.delayMs * 1000
  }

  #now(): number {
    return this.#options.now?.() ?? Date.now() * 1000
  }

  #rest(signal?: AbortSignal): Promise<void> {
    return restBetween(this.#options.restMs ?? 0, signal)
  }
}
