import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { open, readFile, rm, stat, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { sleep } from '../client/backoff.ts'
import { CliError } from './errors.ts'

/** The right to write a part: only one process has it at a time. */
export type PartLock = {
  /** False where another process has the right by now, such as after this one stood still. */
  isHeld(): Promise<boolean>
  /** Throws where it is not held any more. */
  check(): Promise<void>
  release(): Promise<void>
}

/** What a lock says of the process that has it. */
type Entry = {
  readonly owner: string
  readonly pid: number
  readonly host: string
  /** Where process numbers mean the same. */
  readonly machine: string
}

/** A lock as it stands on disk; without an entry where it cannot be read. */
type Found = { readonly entry: Entry | undefined; readonly ageMs: number }

// Nobody can ask for a process of another machine, so locks are renewed, and those that are not have lapsed.
const RENEW_MS = 15_000
const LAPSE_MS = 60_000
const POLL_MS = 250

// Owners in this process: its own number says nothing about an older process that had the same one.
const OWN = new Set<string>()

/**
 * Takes `PART.lock`. Where another process has it, `onWait` is told once and the lock is waited for; without `onWait`
 * it is refused. The lock of a process that is gone is taken over.
 */
export async function lockPart(
  part: string,
  signal: AbortSignal,
  onWait?: (why: string) => void,
): Promise<PartLock> {
  const path = `${part}.lock`
  const owner = randomUUID()
  let isTold = false
  // Others of this process can read the lock before `create` returns, so its owner is known before.
  OWN.add(owner)
  try {
    while (!(await create(path, entryOf(owner)))) {
      signal.throwIfAborted()
      const found = await find(path)
      if (found === undefined) continue
      if (isGone(found)) await removeGone(path, signal)
      else if (onWait === undefined) refuse(part, path, found)
      else {
        if (!isTold) onWait(`${nameOf(found)} is writing ${part}`)
        isTold = true
        await sleep(POLL_MS, signal)
      }
    }
  } catch (error) {
    OWN.delete(owner)
    throw error
  }
  return new HeldLock(path, owner)
}

/** A lock that is renewed until it is released. */
class HeldLock implements PartLock {
  private readonly path: string
  private readonly owner: string
  private readonly timer: NodeJS.Timeout

  constructor(path: string, owner: string) {
    this.path = path
    this.owner = owner
    this.timer = setInterval(() => void renew(path), RENEW_MS).unref()
  }

  async isHeld(): Promise<boolean> {
    return (await find(this.path))?.entry?.owner === this.owner
  }

  async check(): Promise<void> {
    if (await this.isHeld()) return
    throw new CliError(
      'failed',
      `${this.path} was removed or taken over, so another process may have written here too`,
      'Run the command again.',
    )
  }

  async release(): Promise<void> {
    clearInterval(this.timer)
    if (await this.isHeld()) await rm(this.path, { force: true })
    OWN.delete(this.owner)
  }
}

// A renewal that fails is made up for by the next one.
async function renew(path: string): Promise<void> {
  const now = new Date()
  await utimes(path, now, now).catch(() => undefined)
}

function refuse(part: string, path: string, found: Found): never {
  throw new CliError(
    'failed',
    `${nameOf(found)} is writing ${part}`,
    `Wait until it has ended and run the command again. If it is none of Priorbook's, remove ${path}.`,
  )
}

function nameOf({ entry }: Found): string {
  if (entry === undefined) return 'another process'
  return `process ${entry.pid}${entry.machine === MACHINE ? '' : ` of ${entry.host}`}`
}

function isGone({ entry, ageMs }: Found): boolean {
  // Without an entry its process has just made it, or was killed before it could write one.
  if (entry === undefined || entry.machine !== MACHINE) return ageMs > LAPSE_MS
  if (entry.pid === process.pid) return !OWN.has(entry.owner)
  try {
    process.kill(entry.pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EPERM'
  }
}

/**
 * Removes a lock whose process is gone. Several may find that at once, and the slower one must not remove the lock that
 * the faster one has taken meanwhile: only who has made the guard looks again and removes.
 */
async function removeGone(path: string, signal: AbortSignal): Promise<void> {
  const guard = `${path}.old`
  if (!(await create(guard, entryOf('')))) {
    const left = await find(guard)
    // Its process was killed within these few lines.
    if (left !== undefined && left.ageMs > LAPSE_MS) await rm(guard, { force: true })
    else await sleep(POLL_MS, signal)
    return
  }
  try {
    const found = await find(path)
    if (found !== undefined && isGone(found)) await rm(path, { force: true })
  } finally {
    await rm(guard, { force: true })
  }
}

function entryOf(owner: string): Entry {
  return { owner, pid: process.pid, host: hostname(), machine: MACHINE }
}

// Containers may have the same host name and each of them a process 1, and so has a machine after each start.
const MACHINE = machineName()

function machineName(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${hostname()} ${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}

/** Makes a file that must not exist; false where it does. */
async function create(path: string, entry: Entry): Promise<boolean> {
  let file
  try {
    file = await open(path, 'wx')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
  try {
    await file.writeFile(`${JSON.stringify(entry)}\n`)
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    await file.close()
  }
  return true
}

/** Reads a lock; undefined where it was released meanwhile. */
async function find(path: string): Promise<Found | undefined> {
  try {
    const { mtimeMs } = await stat(path)
    const entry = parseEntry(await readFile(path, 'utf8'))
    return { entry, ageMs: Date.now() - mtimeMs }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function parseEntry(text: string): Entry | undefined {
  try {
    const entry = JSON.parse(text) as Partial<Entry> | null
    const { owner, pid, host, machine } = entry ?? {}
    const isKnown = [owner, host, machine].every((word) => typeof word === 'string')
    // A number below 1 would name a group of processes.
    return isKnown && Number.isSafeInteger(pid) && pid! > 0 ? (entry as Entry) : undefined
  } catch {
    return undefined
  }
}
