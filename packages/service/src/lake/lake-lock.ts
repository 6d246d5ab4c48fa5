import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { ObjectStore } from '../objects/object-store.ts'

/** The right to write to a lake. */
export type LakeLock = {
  /** Throws where the right was lost, such as after the process stood still. */
  check(): void
  release(): Promise<void>
}

/** How long a lock holds that is not renewed, and how often it is renewed, in milliseconds. */
export type LockTimes = { readonly leaseMs: number; readonly renewMs: number }

const TIMES: LockTimes = { leaseMs: 30_000, renewMs: 5000 }
// Clocks of two machines may differ by this much.
const MAX_SKEW_MS = 300_000

// Readers of Hive partitions leave folders out that begin with an underscore.
const LOCKS = '_locks/'

/** What the newest object says: who writes, or that nobody does. */
type Entry = {
  readonly owner: string
  readonly host: string
  readonly pid: number
  /** Where process numbers mean the same; absent where that is not known. */
  readonly machine?: string | undefined
  readonly until: string
  readonly is_released: boolean
}

type Found = { readonly number: number; readonly entry: Entry | undefined }

// Owners in this process: its own id says nothing about an older process that had the same one.
const OWN = new Set<string>()

/**
 * Waits for the right to write to a lake, or refuses where another process has it. Objects are never changed, so each
 * acquisition and renewal is a new one with the next number, which only one process can put. A process that was killed
 * blocks no other one: on the same machine it is seen to be gone, elsewhere its lock is not renewed any more.
 */
export async function lockLake(objects: ObjectStore, times: LockTimes = TIMES): Promise<LakeLock> {
  const owner = randomUUID()
  let seen: number | undefined
  let seenAt = 0
  for (;;) {
    const { number, entry } = await readNewest(objects)
    const now = performance.now()
    if (number !== seen) {
      // A number that moves on is that of a process that lives.
      if (seen !== undefined && entry?.is_released === false) refuse(entry)
      seen = number
      seenAt = now
    }
    if (isFree(entry) || now - seenAt >= times.leaseMs) {
      if (await take(objects, number + 1, owner, times)) {
        return new Renewal(objects, owner, number + 1, times)
      }
      seen = undefined
      continue
    }
    if (isHere(entry!)) refuse(entry!)
    await pause(Math.min(1000, times.renewMs))
  }
}

// Others of this process can read the lock before its own `put` returns, so its owner is known before.
async function take(
  objects: ObjectStore,
  number: number,
  owner: string,
  times: LockTimes,
): Promise<boolean> {
  let isTaken = false
  OWN.add(owner)
  try {
    if (!(await put(objects, number, owner, false, times))) return false
    await removeOlder(objects, number)
    isTaken = true
    return true
  } finally {
    if (!isTaken) OWN.delete(owner)
  }
}

function refuse({ host, pid }: Entry): never {
  throw new PriorbookError(
    'store_locked',
    `another process writes to this lake: process ${pid} of ${host}; wait until it has ended`,
  )
}

function isFree(entry: Entry | undefined): boolean {
  if (entry === undefined || entry.is_released) return true
  if (Date.now() > Date.parse(entry.until) + MAX_SKEW_MS) return true
  return isHere(entry) && !isRunning(entry)
}

// Containers may have the same host name, and each of them a process 1.
function isHere({ machine }: Entry): boolean {
  return machine !== undefined && machine === MACHINE
}

const MACHINE = machineName()

function machineName(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${hostname()} ${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return undefined
  }
}

function isRunning({ pid, owner }: Entry): boolean {
  if (pid === process.pid) return OWN.has(owner)
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** A lock that is renewed until it is released. */
class Renewal implements LakeLock {
  readonly #objects: ObjectStore
  readonly #owner: string
  readonly #times: LockTimes
  readonly #timer: NodeJS.Timeout
  #number: number
  #renewedAt = performance.now()
  #isLost = false
  #renewing: Promise<void> = Promise.resolve()

  constructor(objects: ObjectStore, owner: string, number: number, times: LockTimes) {
    this.#objects = objects
    this.#owner = owner
    this.#number = number
    this.#times = times
    this.#timer = setInterval(() => {
      this.#renewing = this.#renewing.then(() => this.#renew())
    }, times.renewMs).unref()
  }

  check(): void {
    const isOld = performance.now() - this.#renewedAt >= this.#times.leaseMs
    if (!this.#isLost && !isOld) return
    throw new PriorbookError(
      'store_locked',
      'this process stood still for too long, and another one may write to the lake now; run it again',
    )
  }

  async release(): Promise<void> {
    clearInterval(this.#timer)
    await this.#renewing
    OWN.delete(this.#owner)
    if (!this.#isLost) await this.#next(true)
  }

  // What fails is tried again with the next renewal, as long as the lock holds.
  async #renew(): Promise<void> {
    if (this.#isLost) return
    await this.#next(false).catch(() => undefined)
  }

  async #next(isReleased: boolean): Promise<void> {
    const at = performance.now()
    const number = this.#number + 1
    // Numbers of another owner may be gone already, so that ours is free though it is behind.
    const isBehind = (await readNewest(this.#objects)).number !== this.#number
    const isOld = at - this.#renewedAt >= this.#times.leaseMs
    if (
      isBehind ||
      isOld ||
      !(await put(this.#objects, number, this.#owner, isReleased, this.#times))
    ) {
      this.#isLost = true
      return
    }
    this.#number = number
    this.#renewedAt = at
    await removeOlder(this.#objects, number)
  }
}

function put(
  objects: ObjectStore,
  number: number,
  owner: string,
  isReleased: boolean,
  { leaseMs }: LockTimes,
): Promise<boolean> {
  const entry: Entry = {
    owner,
    host: hostname(),
    pid: process.pid,
    machine: MACHINE,
    until: new Date(Date.now() + leaseMs).toISOString(),
    is_released: isReleased,
  }
  return objects.put(nameOf(number), Buffer.from(`${JSON.stringify(entry)}\n`))
}

function nameOf(number: number): string {
  return `${LOCKS}${String(number).padStart(12, '0')}.json`
}

async function readNewest(objects: ObjectStore): Promise<Found> {
  for (;;) {
    let newest: { readonly name: string; readonly size: number } | undefined
    for await (const object of objects.list(LOCKS)) {
      if (/^_locks\/\d{12}\.json$/.test(object.name)) newest = object
    }
    if (newest === undefined) return { number: 0, entry: undefined }
    const number = Number(newest.name.slice(LOCKS.length, -'.json'.length))
    try {
      const bytes = await objects.read(newest.name, 0, newest.size)
      return { number, entry: JSON.parse(Buffer.from(bytes).toString()) as Entry }
    } catch (error) {
      // The owner has put a newer one meanwhile and removed this one.
      if (error instanceof PriorbookError && error.code === 'object_missing') continue
      throw error
    }
  }
}

async function removeOlder(objects: ObjectStore, number: number): Promise<void> {
  const older: string[] = []
  for await (const { name } of objects.list(LOCKS)) if (name < nameOf(number)) older.push(name)
  for (const name of older) await objects.remove(name)
}
