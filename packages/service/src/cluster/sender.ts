import { PriorbookError } from '@priorbook/sdk/domain'
import type { CaptureLog } from '../venues/capture/contract.ts'
import { sleep } from '../lib/wait.ts'
import type { Outbox } from '../store/embedded/shared/copy.ts'
import type { Lease, SharedTape } from './shared-tape.ts'

const MAX_BYTES = 4_000_000
const RETRY_MS = 250
const MAX_RETRY_MS = 5_000
const RENEW_MS = 1_000
/** How long a lease lasts without being renewed: a writer that vanished is replaced after it. */
export const LEASE_MS = 4_000
const FOLD_MS = 5_000
const LOST_MS = 5_000
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
 * Sends the commits of the writer to the shared tape, in order, and keeps the lease. While the database
 * does not answer, recording goes on and commits wait in the outbox.
 */
export class Sender {
  readonly #tape: SharedTape
  readonly #lease: Lease
  readonly #outbox: Outbox
  readonly #log: CaptureLog
  #wake: () => void = () => undefined
  #trouble: string | undefined
  #sendingSince = Infinity

  constructor(tape: SharedTape, lease: Lease, outbox: Outbox, log: CaptureLog) {
    this.#tape = tape
    this.#lease = lease
    this.#outbox = outbox
    this.#log = log
    outbox.onCommit = () => this.#wake()
  }

  status(): SenderStatus {
    return { epoch: this.#lease.epoch, ...this.#outbox.place, trouble: this.#trouble }
  }

  /** Sends until the signal; rejects with `not_writer` where another took over. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController()
    const end = AbortSignal.any([signal, stop.signal])
    try {
      await Promise.all(
        [this.#send(end), this.#renew(end), this.#fold(end)].map((work) =>
          work.catch((error: unknown) => {
            stop.abort()
            throw error
          }),
        ),
      )
    } finally {
      stop.abort()
      this.#wake()
    }
  }

  /** Sends what is left and gives the lease up. */
  async finish(): Promise<void> {
    const deadline = Date.now() + LAST_MS
    while (this.#isBehind && Date.now() < deadline) {
      await this.#sendSome().catch(async (error: unknown) => {
        ensureTemporary(error)
        await sleep(RETRY_MS, new AbortController().signal)
      })
    }
    if (!this.#isBehind) await this.#tape.release(this.#lease)
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
    this.#sendingSince = performance.now()
    try {
      await this.#tape.append(this.#lease, commits)
    } finally {
      this.#sendingSince = Infinity
    }
    this.#outbox.sent(commits.at(-1)!.id)
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

  async #renew(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(RENEW_MS, signal)
      if (signal.aborted) return
      try {
        const isHeld = await this.#tape.renew(this.#lease, LEASE_MS)
        // Renewing waits for an append that the server works on. One that is still not answered was lost
        // with its connection.
        if (isHeld && performance.now() - this.#sendingSince > LOST_MS)
          await this.#tape.dropWriter()
        if (isHeld) continue
      } catch (error) {
        ensureTemporary(error)
        continue
      }
      throw new PriorbookError(
        'not_writer',
        'another process took over while this one did not answer',
      )
    }
  }

  async #fold(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const left = await this.#tape.fold(KEEP_MS)
        if (left > 0) continue
      } catch (error) {
        const { message } = ensureTemporary(error)
        this.#log.warn({ error: message }, 'the image of the shared tape is not brought up to date')
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
