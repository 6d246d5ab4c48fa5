import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { PriorbookError, type ErrorCode, type VenueId } from '@priorbook/sdk/domain'
import type { DataFolder } from '../lib/data-folder.ts'
import { sleep } from '../lib/wait.ts'
import type { EmbeddedOptions, EmbeddedStore } from '../store/embedded/open.ts'
import {
  openTapeCopy,
  SCHEMA_VERSION,
  type CommitChanges,
  type TapeCopy,
} from '../store/embedded/shared/copy.ts'
import type { CaptureLog } from '../venues/capture/contract.ts'
import { Follower, type FollowerStatus } from './follower.ts'
import { LEASE_MS, LeaseKeeper } from './lease-keeper.ts'
import { readMemberId } from './member-id.ts'
import type { Nudge } from './nudge.ts'
import { Sender, type SenderStatus } from './sender.ts'
import { SharedTape, type Lease, type StandbyState, type TapeState } from './shared-tape.ts'
import { openCopy, refuseNewer, removeTape } from './tape-copy.ts'
import { isCurrent, openSharedWriter } from './writer.ts'

/** How often a recorder that stands by tries to become the writer. */
const TAKE_MS = 500
/** How long a lease must be seen to have run out, with the database answering: its holder renews more often. */
const GRACE_MS = 2_500
/** For how long a recorder that stands by is taken to be ready after it said so. */
const READY_MS = 2_000
/** How long to wait for the answer who writes the tape, or who goes on. */
const ASK_MS = 2_000
/** Looks that are further apart saw nothing of the time between. */
const LOOK_MS = 1_500
const RETRY_MS = 1_000

/** What a process does for a shared tape. */
export type MemberStatus = {
  /** It records, waits to record, or serves a copy. */
  readonly part: 'writer' | 'standby' | 'reader'
  /** Who writes the tape, as far as this process knows. */
  readonly holder: string
} & Partial<Omit<SenderStatus, 'trouble'>> &
  Partial<Omit<FollowerStatus, 'trouble'>> & { readonly trouble: string | undefined }

/** Who may write the tape, and who could go on. */
export type LeaseState = Pick<TapeState, 'holder' | 'epoch' | 'leaseMs'> & {
  readonly standbys: readonly StandbyState[]
}

/** One process of several that share a tape. Its data folder holds a copy of the tape. */
export class Member {
  readonly #tape: SharedTape
  readonly #nudge: Nudge | undefined
  readonly #file: string
  readonly #log: CaptureLog
  /** Tells this folder's recorder from others; the same after a restart. */
  readonly name: string
  #holder = ''
  #isStandingBy = false
  #isPrepared = false
  #copy: TapeCopy | undefined
  #follower: Follower | undefined
  #keeper: LeaseKeeper | undefined
  #sender: Sender | undefined
  #trouble: string | undefined
  /** Since when the lease of this epoch was seen to have run out, and when that was last looked at. */
  #expired:
    | { readonly epoch: number; readonly sinceMs: number; readonly seenMs: number }
    | undefined

  /** `nudge` carries commits to other members; it is closed with this one. */
  constructor(address: string, data: DataFolder, recorder: string, log: CaptureLog, nudge?: Nudge) {
    this.#tape = new SharedTape(address)
    this.#nudge = nudge
    this.#file = data.tape
    this.#log = log
    this.name = `${recorder}@${hostname()} ${readMemberId(data.path)}`
  }

  status(): MemberStatus {
    const sender = this.#sender?.status()
    if (sender !== undefined) return { part: 'writer', holder: this.name, ...sender }
    const part = this.#isStandingBy ? 'standby' : 'reader'
    const follower = this.#copy === undefined ? undefined : this.#follower?.status()
    const trouble = this.#trouble ?? follower?.trouble
    return { part, holder: this.#holder, ...follower, trouble }
  }

  /**
   * Brings the copy of this folder up to date and keeps it open; `follow` goes on from there. While the
   * database is away, a copy that is there is served as it is.
   */
  async openCopy(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#prepare()
        this.#holder = (await this.#tape.state()).holder
        this.#copy = await openCopy(this.#tape, this.#file, false, (why) => this.#onFetch(why))
      } catch (error) {
        const isAway = error instanceof PriorbookError && error.code === 'store_unavailable'
        if (!isAway) throw error
        this.#tell(error.message, 'the shared tape cannot be followed')
        this.#copy = this.#openAlone()
        if (this.#copy === undefined) {
          await sleep(RETRY_MS, signal)
          continue
        }
      }
      this.#follower = new Follower(this.#tape, this.#copy, this.#log, this.#nudge)
      this.#trouble = undefined
      if (await this.#follower.step()) return
      await this.#dropCopy()
      await sleep(RETRY_MS, signal)
    }
  }

  // The copy that is there, if it has nothing that others do not have.
  #openAlone(): TapeCopy | undefined {
    if (!existsSync(this.#file)) return undefined
    const copy = openTapeCopy(this.#file)
    const place = copy.place()
    if (place !== undefined && copy.sent() === place.commit) return copy
    copy.close()
    return undefined
  }

  /** Follows the shared tape; returns false where the copy was removed and must be opened again. */
  async follow(signal: AbortSignal): Promise<boolean> {
    if (this.#follower === undefined || (await this.#follower.run(signal))) return true
    await this.#dropCopy()
    return false
  }

  /**
   * Waits until this recorder may write, with a copy that is up to date, and opens it. Undefined where the
   * signal came first. `isNew` where another recorder wrote last. `standBy` is called again and again while
   * another one writes and the copy can be read; it returns the venues with which this one could go on.
   */
  async becomeWriter(
    signal: AbortSignal,
    options: Omit<EmbeddedOptions, 'file'>,
    standBy: () => Promise<readonly VenueId[]>,
  ): Promise<{ readonly store: EmbeddedStore; readonly isNew: boolean } | undefined> {
    this.#isStandingBy = true
    while (!signal.aborted) {
      try {
        const lease = await this.#standBy()
        if (lease !== undefined) return await this.#write(lease, options)
        this.#trouble = undefined
        const venues = this.#copy === undefined ? [] : await standBy()
        if (venues.length > 0) await this.#tape.noteStandby(this.name, venues, READY_MS)
      } catch (error) {
        if (!(error instanceof PriorbookError)) throw error
        // A folder in use, a wrong password, a build that is too old: an operator must help.
        if (!WAITED_FOR.has(error.code)) throw error
        this.#tell(error.message, 'standing by fails')
        this.#expired = undefined
      }
      await sleep(TAKE_MS, signal)
    }
    return undefined
  }

  /** The venues that another recorder is ready to go on with at once. */
  async successors(): Promise<ReadonlySet<VenueId>> {
    const none = new Set<VenueId>()
    if (this.#sender === undefined) return none
    const answered = new AbortController()
    const limit = sleep(ASK_MS, answered.signal).then(() => none)
    const asked = this.#tape.successors(this.name).catch(() => none)
    try {
      return await Promise.race([limit, asked])
    } finally {
      answered.abort()
    }
  }

  /** Who may write the tape now; rejects where the database does not answer soon. */
  async leases(): Promise<LeaseState> {
    const answered = new AbortController()
    const limit = sleep(ASK_MS, answered.signal).then(() => {
      throw new PriorbookError('store_unavailable', 'the database does not answer')
    })
    // Whichever loses the race fails unheard.
    limit.catch(() => undefined)
    const asked = this.#readLeases()
    asked.catch(() => undefined)
    try {
      return await Promise.race([limit, asked])
    } finally {
      answered.abort()
    }
  }

  async #readLeases(): Promise<LeaseState> {
    const { holder, epoch, leaseMs } = await this.#tape.state()
    return { holder, epoch, leaseMs, standbys: await this.#tape.standbys() }
  }

  /** Notes that this recorder writes the tape: what it journaled before is not derived again. */
  async noteWriter(store: EmbeddedStore): Promise<void> {
    await store.noteWriter(numberOf(this.name))
  }

  /** Sends the writer's commits; rejects with `not_writer` where another took over. */
  async send(signal: AbortSignal): Promise<void> {
    await this.#sender?.run(signal)
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
    await this.#keeper?.stop()
    await this.#closeCopy()
    this.#nudge?.close()
    await this.#tape.close()
  }

  // One look: keeps the copy near, and takes the lease where that is right. The copy is opened first: its
  // lock keeps a second process out of the folder.
  async #standBy(): Promise<Lease | undefined> {
    await this.#prepare()
    const { schema, loading, tape, last } = await this.#tape.state()
    refuseNewer(schema)
    if (loading) {
      // Only who has all rows can end a load that was cut short.
      await this.#closeCopy()
      if (!isCurrent(this.#file, tape, last)) {
        throw new PriorbookError('store_unavailable', 'a tape is being copied into the database')
      }
    } else if (schema === 0 || schema === SCHEMA_VERSION) await this.#stayNear()
    return this.#tryTake()
  }

  // Once: every look would take longer by the way to the database and back.
  async #prepare(): Promise<void> {
    if (this.#isPrepared) return
    await this.#tape.prepare()
    this.#isPrepared = true
  }

  async #stayNear(): Promise<void> {
    if (this.#copy === undefined) {
      this.#copy = await openCopy(this.#tape, this.#file, true, (why) => this.#onFetch(why))
      this.#follower = new Follower(this.#tape, this.#copy, this.#log, this.#nudge)
    }
    const isAhead = this.#copy.sent() < this.#copy.place()!.commit
    if (isAhead) {
      // Its last commits can be sent until another writes.
      const { last } = await this.#tape.state()
      if (last > this.#copy.sent()) await this.#closeCopy()
      return
    }
    if (!(await this.#follower!.step())) await this.#dropCopy()
    else if (this.#follower!.status().trouble !== undefined) this.#expired = undefined
  }

  async #write(
    lease: Lease,
    options: Omit<EmbeddedOptions, 'file'>,
  ): Promise<{ readonly store: EmbeddedStore; readonly isNew: boolean }> {
    const keeper = new LeaseKeeper(this.#tape, lease)
    this.#keeper = keeper
    await this.#closeCopy()
    const order = { ...options, file: this.#file }
    let store: EmbeddedStore | undefined
    try {
      store = await openSharedWriter(this.#tape, lease, order, (why) => this.#onFetch(why))
      keeper.check()
      const before = await store.lastWriter()
      const { tape } = await this.#tape.state()
      const onSent = (commits: readonly CommitChanges[]): void => this.#nudge?.tell(tape, commits)
      this.#sender = new Sender(this.#tape, keeper, store.outbox!, this.#log, onSent)
      this.#isStandingBy = false
      this.#log.info({ epoch: lease.epoch, before: lease.before }, 'this recorder writes the tape')
      return { store, isNew: before !== 0 && before !== numberOf(this.name) }
    } catch (error) {
      await store?.close()
      await keeper.stop()
      this.#keeper = undefined
      throw error
    }
  }

  // The lease of another is taken only if it was seen to run out. While the database was away, its holder
  // could not renew it, and has rows that only it can send.
  async #tryTake(): Promise<Lease | undefined> {
    const { holder, epoch, leaseMs } = await this.#tape.state()
    if (holder !== '' && holder !== this.name) {
      if (this.#holder !== holder) this.#log.info({ holder }, 'another recorder writes the tape')
      this.#holder = holder
      if (leaseMs > 0) {
        this.#expired = undefined
        return undefined
      }
      const seenMs = performance.now()
      const {
        epoch: known,
        sinceMs,
        seenMs: lookedMs,
      } = this.#expired ?? { epoch: -1, sinceMs: 0, seenMs: 0 }
      const isWatched = known === epoch && seenMs - lookedMs < LOOK_MS
      this.#expired = { epoch, sinceMs: isWatched ? sinceMs : seenMs, seenMs }
      if (seenMs - this.#expired.sinceMs < GRACE_MS) return undefined
    }
    return this.#tape.take(this.name, LEASE_MS)
  }

  // Once, however often it is tried again.
  #tell(why: string, text: string): void {
    if (this.#trouble === undefined) this.#log.error({ error: why }, text)
    this.#trouble = why
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

// What a recorder that stands by waits out.
const WAITED_FOR: ReadonlySet<string> = new Set<ErrorCode>([
  'store_unavailable',
  'disk_full',
  'corrupt_database',
  'unsupported_format',
  'not_writer',
])

// 48 bits, which the store keeps as a number.
function numberOf(name: string): number {
  return createHash('sha256').update(name.split(' ').at(-1)!).digest().readUIntBE(0, 6)
}
