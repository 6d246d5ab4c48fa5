import { PriorbookError } from '@priorbook/sdk/domain'
import { sleep } from '../lib/wait.ts'
import type { Lease, SharedTape } from './shared-tape.ts'

const RENEW_MS = 1_000
/** How long a lease lasts without being renewed: a writer that vanished is replaced after it. */
export const LEASE_MS = 4_000

/** Renews a lease from the moment on in which it was taken, until it is stopped or lost. */
export class LeaseKeeper {
  readonly lease: Lease
  readonly #tape: SharedTape
  readonly #stop = new AbortController()
  readonly #lost = new AbortController()
  readonly #running: Promise<void>
  /** Called after every renewal. */
  onRenewed: () => void = () => undefined

  constructor(tape: SharedTape, lease: Lease) {
    this.#tape = tape
    this.lease = lease
    this.#running = this.#run()
  }

  /** Aborted when another took over. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** Throws `not_writer` where another took over. */
  check(): void {
    if (!this.lost.aborted) return
    const detail = 'another process took over while this one did not answer'
    throw new PriorbookError('not_writer', detail)
  }

  /** Resolves when the last renewal is over. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await sleep(RENEW_MS, signal)
      if (signal.aborted) return
      try {
        if (await this.#tape.renew(this.lease, LEASE_MS)) {
          this.onRenewed()
          continue
        }
      } catch {
        // The database does not answer. The sender logs that, and no other recorder can take the lease now.
        continue
      }
      this.#lost.abort()
      return
    }
  }
}
