import { hostname } from 'node:os'
import { resolve } from 'node:path'
import type { CaptureLog } from '../venues/capture/contract.ts'
import { sleep } from '../lib/wait.ts'
import type { EmbeddedOptions, EmbeddedStore } from '../store/embedded/open.ts'
import type { TapeCopy } from '../store/embedded/shared/copy.ts'
import { Follower, type FollowerStatus } from './follower.ts'
import { LEASE_MS, Sender, type SenderStatus } from './sender.ts'
import { SharedTape, type Lease } from './shared-tape.ts'
import { openCopy, removeTape } from './tape-copy.ts'
import { openSharedWriter } from './writer.ts'

/** How often a recorder that stands by tries to become the writer. */
const TAKE_MS = 500
/** How long a lease must be seen to have run out, with the database answering: its holder renews more often. */
const GRACE_MS = 2_500

/** What a process does for a shared tape. */
export type MemberStatus = {
  /** It records, waits to record, or serves a copy. */
  readonly part: 'writer' | 'standby' | 'reader'
  /** Who writes the tape, as far as this process knows. */
  readonly holder: string
} & Partial<Omit<SenderStatus, 'trouble'>> &
  Partial<Omit<FollowerStatus, 'trouble'>> & { readonly trouble: string | undefined }

/** One process of several that share a tape. Its data folder holds a copy of the tape. */
export class Member {
  readonly #tape: SharedTape
  readonly #file: string
  readonly #log: CaptureLog
  /** Tells this folder's recorder from others; the same after a restart. */
  readonly name: string
  #holder = ''
  #isStandingBy = false
  #copy: TapeCopy | undefined
  #follower: Follower | undefined
  #lease: Lease | undefined
  #sender: Sender | undefined
  #trouble: string | undefined
  /** Since when the lease of this epoch was seen to have run out. */
  #expired: { readonly epoch: number; readonly sinceMs: number } | undefined

  constructor(address: string, file: string, recorder: string, log: CaptureLog) {
    this.#tape = new SharedTape(address)
    this.#file = file
    this.#log = log
    this.name = `${recorder}@${hostname()}:${resolve(file)}`
  }

  status(): MemberStatus {
    const sender = this.#sender?.status()
    if (sender !== undefined) return { part: 'writer', holder: this.name, ...sender }
    const part = this.#isStandingBy ? 'standby' : 'reader'
    const follower = this.#copy === undefined ? undefined : this.#follower?.status()
    return { part, holder: this.#holder, trouble: this.#trouble, ...follower }
  }

  /** Brings the copy of this folder up to date and keeps it open; `follow` goes on from there. */
  async openCopy(): Promise<void> {
    await this.#tape.prepare()
    this.#copy = await openCopy(this.#tape, this.#file, false, (why) => this.#onFetch(why))
    this.#follower = new Follower(this.#tape, this.#copy, this.#log)
    this.#holder = (await this.#tape.state()).holder
    if (await this.#follower.step()) return
    await this.#dropCopy()
    await this.openCopy()
  }

  /** Follows the shared tape; returns false where the copy was removed and must be opened again. */
  async follow(signal: AbortSignal): Promise<boolean> {
    if (await this.#follower!.run(signal)) return true
    await this.#dropCopy()
    return false
  }

  /**
   * Waits until this recorder may write, with a copy that is up to date, and opens it. Undefined where the
   * signal came first. `isNew` where another recorder wrote before.
   */
  async becomeWriter(
    signal: AbortSignal,
    options: Omit<EmbeddedOptions, 'file'>,
  ): Promise<{ readonly store: EmbeddedStore; readonly isNew: boolean } | undefined> {
    this.#isStandingBy = true
    while (!signal.aborted) {
      try {
        const lease = await this.#tryTake()
        if (lease !== undefined) {
          this.#lease = lease
          this.#isStandingBy = false
          await this.#closeCopy()
          const order = { ...options, file: this.#file }
          const store = await openSharedWriter(this.#tape, lease, order, (why) =>
            this.#onFetch(why),
          )
          this.#sender = new Sender(this.#tape, lease, store.outbox!, this.#log)
          this.#log.info(
            { epoch: lease.epoch, before: lease.before },
            'this recorder writes the tape',
          )
          return { store, isNew: lease.before !== '' && lease.before !== lease.holder }
        }
        if (this.#copy === undefined) await this.openCopy()
        else if (!(await this.#follower!.step())) await this.#dropCopy()
        this.#trouble = undefined
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error)
        if (this.#trouble === undefined) this.#log.error({ error: why }, 'standing by fails')
        this.#trouble = why
        this.#expired = undefined
        if (this.#lease !== undefined) throw error
      }
      await sleep(TAKE_MS, signal)
    }
    return undefined
  }

  /** Sends the writer's commits; rejects with `not_writer` where another took over. */
  async send(signal: AbortSignal): Promise<void> {
    await this.#sender!.run(signal)
  }

  /** Sends what is left, where this process is the writer, and lets another take over. */
  async finish(): Promise<void> {
    try {
      await this.#sender?.finish()
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      this.#log.error({ error: why }, 'the last commits were not sent')
    }
  }

  async close(): Promise<void> {
    await this.#closeCopy()
    await this.#tape.close()
  }

  // The lease of another is taken only if it was seen to run out. While the database was away, its holder
  // could not renew it, and has rows that only it can send.
  async #tryTake(): Promise<Lease | undefined> {
    await this.#tape.prepare()
    const { holder, epoch, leaseMs } = await this.#tape.state()
    if (holder !== '' && holder !== this.name) {
      const nowMs = performance.now()
      if (leaseMs > 0 || this.#expired?.epoch !== epoch) this.#expired = { epoch, sinceMs: nowMs }
      if (this.#holder !== holder) this.#log.info({ holder }, 'another recorder writes the tape')
      this.#holder = holder
      if (leaseMs > 0 || nowMs - this.#expired.sinceMs < GRACE_MS) return undefined
    }
    return this.#tape.take(this.name, LEASE_MS)
  }

  #onFetch(why: string): void {
    this.#log.info({ why }, 'the tape is fetched from the database')
  }

  async #closeCopy(): Promise<void> {
    const follower = this.#follower
    this.#copy?.close()
    this.#copy = undefined
    this.#follower = undefined
    await follower?.close()
  }

  // Readers of the file must have closed it.
  async #dropCopy(): Promise<void> {
    await this.#closeCopy()
    removeTape(this.#file)
  }
}
