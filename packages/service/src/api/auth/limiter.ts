import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { Problem } from '@priorbook/sdk/wire'
import { BoundedMap } from '../../lib/bounded-map.ts'
import type { LimitState } from '../route.ts'
import type { Plan } from './plans.ts'
import { COUNTER_BYTES, hit, lookAt, windowSeconds, type WindowLimit } from './sliding-window.ts'

/** The name of the file of counters in a data folder. */
export const LIMITS_FILE = 'limits.db'

/** Whether a request is admitted, and how much of each limit is left. */
export type Admission = {
  readonly isAdmitted: boolean
  readonly limits: readonly LimitState[]
  /** The limit that refused it. */
  readonly refusedBy?: LimitState
}

/** Throws `rate_limited` for a request that is not admitted. */
export function requireAdmitted(
  { isAdmitted, refusedBy }: Admission,
  plan: string,
  nowMs: number,
): void {
  if (isAdmitted) return
  const { name, quota, seconds, nextMs } = refusedBy!
  throw new Problem(
    'rate_limited',
    `more requests than the plan ${plan} allows: ${quota} in ${seconds} s`,
    {
      limit: name,
      retryAfter: Math.max(1, Math.ceil((nextMs - nowMs) / 1000)),
    },
  )
}

// How many times a writer retries the lock at once before it sleeps between tries, and when it gives up.
const SPINS = 200
const GIVE_UP_MS = 250
// Counters of keys without a request for this long are deleted; no window is longer.
const FORGET_MS = 120_000
// How often the number of nodes is read.
const NODES_MS = 1_000
// One that is forgotten is refused again by its counters.
const REFUSED_KEPT = 10_000

/**
 * Opens the counters, which are shared by all processes and survive restarts. Where the file cannot be
 * used, each process counts for itself.
 */
export function openLimiter(file: string, onTrouble: (why: string) => void = () => {}): Limiter {
  return new Limiter(openCounters(file), onTrouble)
}

/**
 * Counts requests by key, exactly and over all processes of a data folder. A request of a limited key
 * costs one small transaction (27 µs on a busy machine). A refused key is refused from memory until a
 * place is free, because the counts of other processes only grow. The file is never synced: a power cut
 * loses the last minute at worst.
 */
export class Limiter {
  readonly #counters: Counters
  readonly #onTrouble: (why: string) => void
  readonly #refused = new BoundedMap<
    string,
    { readonly plan: Plan; readonly admission: Admission }
  >(REFUSED_KEPT)
  /** The counters as last seen, for when the file cannot be used. */
  readonly #own = new Map<string, DataView>()
  #cleanedMs = 0
  /** How many nodes share the limits of a plan, and when that was last read. */
  #nodes = 1
  #nodesReadMs = -Infinity

  constructor(database: DatabaseSync, onTrouble: (why: string) => void) {
    this.#counters = new Counters(database)
    this.#onTrouble = onTrouble
  }

  /** Counts a request if it is admitted; undefined for a plan without limits. */
  admit(keyId: string, plan: Plan, nowMs: number): Admission | undefined {
    if (plan.per_second === null && plan.per_minute === null) return undefined
    const before = this.#refused.get(keyId)
    if (before !== undefined) {
      const { nextMs } = before.admission.refusedBy!
      const isStill = nowMs < nextMs && nextMs - nowMs <= FORGET_MS && before.plan === plan
      if (isStill) return before.admission
      this.#refused.delete(keyId)
    }
    let admission: Admission
    try {
      admission = this.#admitShared(keyId, plan, nowMs)
    } catch (error) {
      this.#onTrouble(error instanceof Error ? error.message : String(error))
      admission = this.#admitAlone(keyId, plan, nowMs)
    }
    if (!admission.isAdmitted) this.#refused.set(keyId, { plan, admission })
    return admission
  }

  /** The limits of a key without counting. */
  look(keyId: string, plan: Plan, nowMs: number): readonly LimitState[] {
    let counters = this.#own.get(keyId) ?? emptyCounters()
    try {
      counters = this.#counters.read(keyId)
    } catch (error) {
      this.#onTrouble(error instanceof Error ? error.message : String(error))
    }
    return limitsOf(plan, this.#nodes).map((limit) => stateOf(counters, limit, nowMs))
  }

  close(): void {
    this.#counters.close()
  }

  #admitShared(keyId: string, plan: Plan, nowMs: number): Admission {
    return this.#counters.locked(() => {
      const counters = this.#counters.read(keyId)
      if (Math.abs(nowMs - this.#nodesReadMs) > NODES_MS) {
        this.#nodesReadMs = nowMs
        this.#nodes = this.#counters.nodes()
      }
      const admission = judge(counters, limitsOf(plan, this.#nodes), nowMs)
      if (admission.isAdmitted) {
        this.#counters.write(keyId, counters, nowMs)
        this.#own.set(keyId, counters)
      }
      if (nowMs - this.#cleanedMs > FORGET_MS) {
        this.#cleanedMs = nowMs
        this.#counters.forget(nowMs - FORGET_MS)
        this.#own.clear()
      }
      return admission
    })
  }

  #admitAlone(keyId: string, plan: Plan, nowMs: number): Admission {
    const counters = this.#own.get(keyId) ?? emptyCounters()
    this.#own.set(keyId, counters)
    return judge(counters, limitsOf(plan, this.#nodes), nowMs)
  }
}

/** The counters of all keys in a database. */
class Counters {
  readonly #database: DatabaseSync
  readonly #begin
  readonly #commit
  readonly #read
  readonly #write
  readonly #forget
  readonly #nodes

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#nodes = database.prepare('SELECT nodes FROM share')
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
    this.#read = database.prepare('SELECT counters FROM window WHERE key_id = ?')
    this.#write = database.prepare(
      `INSERT INTO window (key_id, counters, touched) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET counters = excluded.counters, touched = excluded.touched`,
    )
    this.#forget = database.prepare('DELETE FROM window WHERE touched < ?')
  }

  /** Runs work while no other process counts. */
  locked<T>(work: () => T): T {
    this.#lock()
    try {
      return work()
    } finally {
      if (this.#database.isTransaction) this.#commit.run()
    }
  }

  read(keyId: string): DataView {
    const stored = this.#read.get(keyId)?.['counters'] as Uint8Array | undefined
    if (stored?.byteLength !== COUNTER_BYTES) return emptyCounters()
    // The counters need an even address, which SQLite does not guarantee.
    return new DataView(stored.buffer.slice(stored.byteOffset, stored.byteOffset + COUNTER_BYTES))
  }

  write(keyId: string, counters: DataView, nowMs: number): void {
    this.#write.run(keyId, new Uint8Array(counters.buffer as ArrayBuffer), Math.floor(nowMs))
  }

  /** How many nodes share the limits of a plan. */
  nodes(): number {
    return Number(this.#nodes.get()?.['nodes'] ?? 1)
  }

  /** Deletes counters that were last written before a time. */
  forget(beforeMs: number): void {
    this.#forget.run(Math.floor(beforeMs))
  }

  close(): void {
    this.#database.close()
  }

  #lock(): void {
    const until = performance.now() + GIVE_UP_MS
    for (let spin = 0; ; spin++) {
      try {
        this.#begin.run()
        return
      } catch (error) {
        // A transaction of another process takes microseconds, so retrying at once beats sleeping.
        if (!isBusy(error) || performance.now() > until) throw error
        if (spin > SPINS) Atomics.wait(PAUSE, 0, 0, 1)
      }
    }
  }
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4))

function emptyCounters(): DataView {
  return new DataView(new ArrayBuffer(COUNTER_BYTES))
}

function judge(counters: DataView, windows: readonly WindowLimit[], nowMs: number): Admission {
  const limits = windows.map((limit) => stateOf(counters, limit, nowMs))
  const full = limits.filter(({ remaining }) => remaining === 0)
  if (full.length > 0) {
    const refusedBy = full.reduce((a, b) => (b.nextMs > a.nextMs ? b : a))
    return { isAdmitted: false, limits, refusedBy }
  }
  for (const { name } of limits) hit(counters, name, nowMs)
  return {
    isAdmitted: true,
    limits: limits.map((limit) => ({
      ...limit,
      remaining: limit.remaining - 1,
      // The first request of a window is its oldest.
      resetMs: limit.resetMs > nowMs ? limit.resetMs : nowMs + limit.seconds * 1000,
    })),
  }
}

function stateOf(counters: DataView, limit: WindowLimit, nowMs: number): LimitState {
  return { ...limit, seconds: windowSeconds(limit.name), ...lookAt(counters, limit, nowMs) }
}

/** The limits of a plan, or the share of them that one of several nodes allows. */
export function limitsOf(plan: Plan, nodes: number): readonly WindowLimit[] {
  const share = (quota: number): number => Math.max(1, Math.floor(quota / nodes))
  const limits: WindowLimit[] = []
  if (plan.per_second !== null) limits.push({ name: 'second', quota: share(plan.per_second) })
  if (plan.per_minute !== null) limits.push({ name: 'minute', quota: share(plan.per_minute) })
  return limits
}

/** Writes how many nodes share the limits, for all processes of a data folder. */
export class NodeCount {
  readonly #database: DatabaseSync
  #written: number | undefined

  constructor(file: string) {
    this.#database = openCounters(file)
    this.#database.exec('PRAGMA busy_timeout = 2000')
  }

  write(nodes: number): void {
    if (nodes === this.#written) return
    this.#database.prepare('UPDATE share SET nodes = ?').run(nodes)
    this.#written = nodes
  }

  close(): void {
    this.#database.close()
  }
}

function openCounters(file: string): DatabaseSync {
  const open = (): DatabaseSync => {
    const database = new DatabaseSync(file)
    database.exec('PRAGMA busy_timeout = 2000; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF')
    database.exec(
      `CREATE TABLE IF NOT EXISTS window (
         key_id TEXT PRIMARY KEY, counters BLOB NOT NULL, touched INTEGER NOT NULL
       ) STRICT, WITHOUT ROWID;
       CREATE TABLE IF NOT EXISTS share (one INTEGER PRIMARY KEY, nodes INTEGER NOT NULL) STRICT;
       INSERT OR IGNORE INTO share (one, nodes) VALUES (1, 1)`,
    )
    database.exec('PRAGMA busy_timeout = 0')
    return database
  }
  try {
    return open()
  } catch (error) {
    if (isBusy(error)) throw error
    // A damaged file is replaced: it holds counts of one minute.
    for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
    return open()
  }
}

function isBusy(error: unknown): boolean {
  // SQLITE_BUSY and SQLITE_LOCKED, with their extended codes.
  const code = (error as { errcode?: number }).errcode ?? 0
  return (code & 0xff) === 5 || (code & 0xff) === 6
}
