import { setTimeout as pause } from 'node:timers/promises'
import { DAY_MICROS, PriorbookError, VENUE_IDS } from '@priorbook/sdk/domain'
import type { Config } from '../config/index.ts'
import { parseAmount } from '../config/retention.ts'
import { knowsAddress, listNotes, moveAway, type AwayOrder } from '../journal/index.ts'
import { openObjects } from '../objects/open-objects.ts'
import type { ColdCounts, EmbeddedStore, MoveReport } from '../store/embedded/open.ts'

/** What is in other storage, and how the last move went. */
export type ColdState = ColdCounts & {
  readonly address: string
  /** Files of journals there. */
  readonly journal: { readonly files: number; readonly bytes: number }
  /** When the last move ended well, in microseconds; absent before the first. */
  readonly movedAt?: number | undefined
  /** Why the last move failed. */
  readonly trouble?: string | undefined
}

/** What a mover works on. */
export type ColdMoverOptions = {
  readonly store: EmbeddedStore
  readonly journalDir: string
  readonly config: Config['cold']
  /** How long to leave the process to others between two steps. */
  readonly restMs?: number
  /** The time in microseconds. */
  now?(): number
}

type Log = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

const NOTHING = { segments: 0, bytes: 0, chunks: 0, journal: { files: 0, bytes: 0 } }
const MOST_WAIT_MS = 600_000
const LEAST_WAIT_MS = 1000

/** What a pass moved: chunks of the tape in segments, and files of journals. */
export type ColdReport = MoveReport & { readonly journal: { files: number; bytes: number } }

/** Moves chunks and files of journals that are old enough to the storage of the configuration. */
export class ColdMover {
  readonly #options: ColdMoverOptions
  #state: ColdState | undefined

  constructor(options: ColdMoverOptions) {
    this.#options = options
  }

  /** Absent where no storage is configured, or nothing was looked at yet. */
  status(): ColdState | undefined {
    return this.#state
  }

  /** Moves what is due; all that is old enough with `isWhole`. */
  async pass(isWhole = false, signal?: AbortSignal): Promise<ColdReport> {
    const { store, config, restMs = 0 } = this.#options
    const now = this.#options.now?.() ?? Date.now() * 1000
    const used = openObjects(config.address, process.env, false)
    const { address } = used
    const { segments } = await store.coldCounts(address)
    const isUsed = segments > 0 || knowsAddress(this.#options.journalDir, address)
    const objects = isUsed ? used : openObjects(config.address, process.env)
    const age = amountOf(config.after)
    const before = now - age
    const every = isWhole ? 0 : Math.min(age, DAY_MICROS)
    const keepUnused = amountOf(config.keepUnused)
    const order = {
      objects,
      before,
      now,
      keepUnused,
      restMs,
      ...(signal === undefined ? {} : { signal }),
    }
    // Rows leave the log only when it is packed.
    await store.packBefore(before)
    const journal = { files: 0, bytes: 0 }
    // A file that cannot be moved does not keep the tape here.
    const failures: unknown[] = []
    await this.#moveJournals(order, journal, failures)
    const sum = { segments: 0, chunks: 0, bytes: 0, removed: 0, journal }
    for (;;) {
      const step = await store.moveCold({ ...order, every })
      sum.segments += step.segments
      sum.chunks += step.chunks
      sum.bytes += step.bytes
      sum.removed += step.removed
      if (step.chunks === 0) break
    }
    const there = { ...(await store.coldCounts()), journal: this.#countJournals() }
    this.#state = { ...there, address, movedAt: now }
    if (failures.length > 0) throw failures[0]
    return sum
  }

  async #moveJournals(
    order: Pick<AwayOrder, 'objects' | 'before' | 'now' | 'keepUnused' | 'restMs' | 'signal'>,
    sum: ColdReport['journal'],
    failures: unknown[],
  ): Promise<void> {
    const { store, journalDir: dir } = this.#options
    const owner = await store.owner()
    for (const venue of VENUE_IDS) {
      try {
        const packed = await store.packedPosition(venue)
        const moved = await moveAway({ ...order, dir, venue, owner, packed })
        sum.files += moved.files
        sum.bytes += moved.bytes
        failures.push(...moved.failures)
      } catch (error) {
        failures.push(error)
      }
    }
  }

  #countJournals(): ColdState['journal'] {
    const { journalDir } = this.#options
    const sizes = VENUE_IDS.flatMap((venue) => listNotes(journalDir, venue)).map(
      ({ file }) => file?.size ?? 0,
    )
    return { files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
  }

  /** Moves again and again until it is stopped; trouble is logged once and tried again. */
  async run(signal: AbortSignal, log: Log): Promise<void> {
    const { config } = this.#options
    const { address } = config
    if (address === '') return
    const waitMs = Math.min(
      MOST_WAIT_MS,
      Math.max(LEAST_WAIT_MS, amountOf(config.after) / 1000 / 8),
    )
    while (!signal.aborted) {
      try {
        const moved = await this.pass(false, signal)
        if (moved.segments + moved.journal.files > 0) {
          log.info({ ...moved, address }, 'moved to other storage')
        }
      } catch (error) {
        if (signal.aborted) return
        const trouble = error instanceof Error ? error.message : String(error)
        const code = error instanceof PriorbookError ? error.code : undefined
        if (trouble !== this.#state?.trouble) {
          log.warn(
            { error: trouble, code, address },
            'nothing leaves this machine: moving is tried again',
          )
        }
        this.#state = { ...NOTHING, ...this.#state, address, trouble }
      }
      await pause(waitMs, undefined, { signal }).catch(() => undefined)
    }
  }
}

function amountOf(age: string): number {
  return parseAmount(age) ?? Infinity
}
