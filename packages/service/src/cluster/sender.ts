import { PriorbookError } from '@priorbook/sdk/domain'
import type { CaptureLog } from '../venues/capture/contract.ts'
import { sleep } from '../lib/wait.ts'
import type { CommitChanges, Outbox } from '../store/embedded/shared/copy.ts'
import type { LeaseKeeper } from './lease-keeper.ts'
import type { SharedTape } from './shared-tape.ts'

const MAX_BYTES = 4_000_000
const RETRY_MS = 250
const MAX_RETRY_MS = 5_000
const FOLD_MS = 5_000
const LOST_MS = 5_000
const SLOWEST_BYTES_MS = 100
/** How long commits stay for followers after they are in the image. */
const KEEP_MS = 3_600_000
/** How long a writer that stops tries to send its last commits. */
const LAST_MS = 10_000

/** What has been sent of the writer's commits. */
export type SenderStatus = {
  readonly epoch: number
  readonly last: number
  readonly sent: number
  /** Why commits cannot be sent now. */
  readonly trouble: string | undefined
}

/**
 * Sends the commits of the writer to the shared tape, in order, and folds them into its image. While the
 * database does not answer, recording goes on and commits wait in the outbox.
 */
export class Sender {
  readonly #tape: SharedTape
  readonly #keeper: LeaseKeeper
  readonly #outbox: Outbox
  readonly #log: CaptureLog
  readonly #onSent: (commits: readonly CommitChanges[]) => void
  #wake: () => void = () => undefined
  #trouble: string | undefined
  /** When an append that is not answered is taken as lost. */
  #lostAt = Infinity

  /** `onSent` is called with commits once the database has them. */
  constructor(
    tape: SharedTape,
    keeper: LeaseKeeper,
    outbox: Outbox,
    log: CaptureLog,
    onSent: (commits: readonly CommitChanges[]) => void,
  ) {
    this.#tape = tape
    this.#onSent = onSent
    this.#keeper = keeper
    this.#outbox = outbox
    this.#log = log
    outbox.onCommit = () => this.#wake()
    keeper.onRenewed = () => this.#dropLost()
  }

  status(): SenderStatus {
    return { epoch: this.#keeper.lease.epoch, ...this.#outbox.place, trouble: this.#trouble }
  }

  /** Sends until the signal; rejects with `not_writer` where another took over. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController()
    const end = AbortSignal.any([signal, stop.signal, this.#keeper.lost])
    const folding = this.#fold(end)
    // An append that is not answered must not keep a writer that stops, or was replaced.
    const drop = (): void => void this.#tape.dropWriter()
    let timer: NodeJS.Timeout | undefined
    const onEnd = (): void => {
      if (this.#keeper.lost.aborted) drop()
      else timer = setTimeout(drop, LAST_MS)
    }
    end.addEventListener('abort', onEnd, { once: true })
    try {
      await this.#send(end)
      this.#keeper.check()
    } finally {
      stop.abort()
      await folding
      clearTimeout(timer)
    }
  }

  /** Sends what is left and gives the lease up. */
  async finish(): Promise<void> {
    const deadline = Date.now() + LAST_MS
    // A commit that waits for a standby is not waited for longer.
    const drop = (): void => {
      if (Date.now() >= deadline) void this.#tape.dropWriter()
    }
    const timer = setInterval(drop, RETRY_MS)
    try {
      while (this.#isBehind && Date.now() < deadline) {
        await this.#sendSome().catch(async (error: unknown) => {
          ensureTemporary(error)
          await sleep(RETRY_MS, new AbortController().signal)
        })
      }
    } finally {
      clearInterval(timer)
      await this.#keeper.stop()
    }
    // Not before its last renewal is over, which would take the lease back.
    if (!this.#isBehind) await this.#tape.release(this.#keeper.lease)
  }

  get #isBehind(): boolean {
    const { last, sent } = this.#outbox.place
    return sent < last
  }

  async #send(signal: AbortSignal): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      if (!this.#isBehind) {
        await this.#untilCommit(signal)
        continue
      }
      try {
        await this.#sendSome()
        if (failures > 0) this.#log.info({}, 'commits reach the shared tape again')
        failures = 0
        this.#trouble = undefined
      } catch (error) {
        const { message } = ensureTemporary(error)
        if (failures++ === 0)
          this.#log.error({ error: message }, 'commits do not reach the shared tape')
        this.#trouble = message
        await sleep(Math.min(RETRY_MS * 2 ** Math.min(failures, 8), MAX_RETRY_MS), signal)
      }
    }
  }

  async #sendSome(): Promise<void> {
    const commits = this.#outbox.read(MAX_BYTES)
    const bytes = commits.reduce((sum, { changes }) => sum + changes.length, 0)
    this.#lostAt = performance.now() + LOST_MS + bytes / SLOWEST_BYTES_MS
    try {
      const sent = await this.#tape.append(this.#keeper.lease, commits)
      this.#onSent(commits.filter(({ id }) => id <= sent))
      this.#outbox.sent(sent)
    } finally {
      this.#lostAt = Infinity
    }
  }

  // Renewing waits for an append that the server works on. One that is still not answered long after it
  // should be was lost with its connection.
  #dropLost(): void {
    if (performance.now() > this.#lostAt) void this.#tape.dropWriter()
  }

  async #untilCommit(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#wake = done
      signal.addEventListener('abort', done, { once: true })
      if (this.#isBehind || signal.aborted) done()
    })
  }

  async #fold(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const left = await this.#tape.fold(KEEP_MS)
        if (left > 0) continue
      } catch (error) {
        // Commits stay until they are folded, so that nothing is lost by trying again.
        const why = error instanceof Error ? error.message : String(error)
        this.#log.error({ error: why }, 'the image of the shared tape is not brought up to date')
      }
      await sleep(FOLD_MS, signal)
    }
  }
}

// The server may be away for a while; everything else is not mended by waiting.
function ensureTemporary(error: unknown): PriorbookError {
  const isTemporary =
    error instanceof PriorbookError &&
    ['store_unavailable', 'disk_full', 'store_refused'].includes(error.code)
  if (!isTemporary) throw error
  return error
}
