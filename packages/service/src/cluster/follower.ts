import { PriorbookError } from '@priorbook/sdk/domain'
import type { Following } from '../lib/redis.ts'
import { sleep } from '../lib/wait.ts'
import type { CommitChanges, TapeCopy } from '../store/embedded/shared/copy.ts'
import type { CaptureLog } from '../venues/capture/contract.ts'
import type { Nudge } from './nudge.ts'
import type { Connection } from './postgres.ts'
import type { SharedTape } from './shared-tape.ts'
import { catchUpCopy } from './tape-copy.ts'

// Without a hint the tape is looked at this often.
const POLL_MS = 250
const MAX_RETRY_MS = 5_000

/** Where a copy stands. */
export type FollowerStatus = {
  readonly commit: number
  /** When it was last known to be up to date. */
  readonly currentAt: number
  readonly trouble: string | undefined
}

/** Keeps a copy up to date with the shared tape. */
export class Follower {
  readonly #tape: SharedTape
  readonly #copy: TapeCopy
  readonly #log: CaptureLog
  /** Brings commits with their contents. */
  readonly #nudges: Following | undefined
  /** The newest commit that Redis has announced. */
  #announced = 0
  #currentAt = 0
  #trouble: string | undefined
  #failures = 0
  #hints: Connection | undefined
  #wake: () => void = () => undefined
  #isHinted = false
  #isClosed = false
  /** While the database is read, commits are not applied beside it. */
  #isStepping = false

  constructor(tape: SharedTape, copy: TapeCopy, log: CaptureLog, nudge: Nudge | undefined) {
    this.#tape = tape
    this.#copy = copy
    this.#log = log
    this.#nudges = nudge?.follow(copy.place()!.tape, (id, commit) => this.#hear(id, commit))
  }

  status(): FollowerStatus {
    const { commit } = this.#copy.place()!
    return { commit, currentAt: this.#currentAt, trouble: this.#trouble }
  }

  /** Follows until the signal; returns false where the copy must be fetched again. */
  async run(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      if (!(await this.step())) return false
      await this.#untilHint(signal)
    }
    return true
  }

  // The next commit is applied at once; any other one says only that there is more.
  #hear(id: number, commit: CommitChanges | undefined): void {
    if (this.#isClosed) return
    this.#announced = Math.max(this.#announced, id)
    const next = this.#copy.place()!.commit + 1
    if (id < next) return
    if (id === next && commit !== undefined && !this.#isStepping) {
      try {
        this.#copy.apply([commit])
        this.#currentAt = Date.now()
        return
      } catch (error) {
        // The database says what is wrong with the copy.
        this.#trouble = error instanceof Error ? error.message : String(error)
      }
    }
    this.#isHinted = true
    this.#wake()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#nudges?.close()
    await this.#hints?.close()
    this.#hints = undefined
  }

  /** Brings the copy up to date once; false where it must be fetched again. */
  async step(): Promise<boolean> {
    this.#isStepping = true
    const known = this.#copy.place()!.commit
    try {
      if (!(await catchUpCopy(this.#tape, this.#copy))) return false
      this.#currentAt = Date.now()
      await this.#listen(known)
      if (this.#failures > 0) this.#log.info({}, 'the shared tape is followed again')
      this.#failures = 0
      this.#trouble = undefined
    } catch (error) {
      if (!(error instanceof PriorbookError)) throw error
      this.#trouble = error.message
      if (this.#failures++ === 0) {
        this.#log.error({ error: error.message }, 'the shared tape cannot be followed')
      }
    } finally {
      this.#isStepping = false
    }
    return true
  }

  // While Redis announces commits, the database need not. A writer may not be connected to it: then the copy had a
  // commit, at the latest in the step before, that Redis has not announced.
  async #listen(known: number): Promise<void> {
    if (this.#nudges?.isReady === true && this.#announced >= known) {
      await this.#hints?.close()
      this.#hints = undefined
      return
    }
    if (this.#hints !== undefined && !this.#hints.isBroken) return
    await this.#hints?.close()
    this.#hints = await this.#tape.listen(() => {
      this.#isHinted = true
      this.#wake()
    })
  }

  async #untilHint(signal: AbortSignal): Promise<void> {
    const stop = new AbortController()
    this.#wake = () => stop.abort()
    const waitMs = Math.min(POLL_MS * 2 ** Math.min(this.#failures, 8), MAX_RETRY_MS)
    if (!this.#isHinted) await sleep(waitMs, AbortSignal.any([signal, stop.signal]))
    this.#isHinted = false
  }
}
