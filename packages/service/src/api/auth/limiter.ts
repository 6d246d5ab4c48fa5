import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { LimitState } from '../route.ts'
import type { Plan } from './plans.ts'
import { COUNTER_BYTES, hit, lookAt, windowSeconds, type WindowLimit } from './sliding-window.ts'

/** The name of the file of counters in a data folder. */
export const LIMITS_FILE = 'limits.db'

/** Whether a request may pass, and how much is left. */
export type Admission = {
  readonly isAdmitted: boolean
  readonly limits: readonly LimitState[]
  /** The limit that refused it. */
  readonly refusedBy?: LimitState
}

/** Counts requests by key, exactly and over all processes of a data folder. */
export interface Limiter {
  /** Counts a request if it may pass; undefined for a plan without limits. */
  admit(keyId: string, plan: Plan, nowMs: number): Admission | undefined
  /** The limits of a key without counting. */
  look(keyId: string, plan: Plan, nowMs: number): readonly LimitState[]
  close(): void
}

const SPINS = 200
const GIVE_UP_MS = 250
const FORGET_MS = 120_000

/**
 * Counters in a file of their own, shared by all processes and kept over restarts. A request of a
 * limited key costs one small transaction (27 µs on a busy machine); one that is refused is refused from memory until
 * a place is free, because counts of others only grow. The file is never synced: after a power cut
 * its minute is gone, or the file is made anew. Where it cannot be used, each process counts for itself.
 */
export function openLimiter(file: string, onTrouble: (why: string) => void = () => {}): Limiter {
  const database = openCounters(file)
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  const read = database.prepare('SELECT counters FROM window WHERE key_id = ?')
  const write = database.prepare(
    `INSERT INTO window (key_id, counters, touched) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET counters = excluded.counters, touched = excluded.touched`,
  )
  const forget = database.prepare('DELETE FROM window WHERE touched < ?')
  const own = new Map<string, DataView>()
  const refused = new Map<string, { readonly plan: Plan; readonly admission: Admission }>()
  let cleaned = 0

  const load = (keyId: string): DataView => {
    const stored = read.get(keyId)?.['counters'] as Uint8Array | undefined
    if (stored?.byteLength !== COUNTER_BYTES) return new DataView(new ArrayBuffer(COUNTER_BYTES))
    // Counts need an even address, which SQLite's bytes need not have.
    return new DataView(stored.buffer.slice(stored.byteOffset, stored.byteOffset + COUNTER_BYTES))
  }

  const lock = (): void => {
    const until = performance.now() + GIVE_UP_MS
    for (let spin = 0; ; spin++) {
      try {
        begin.run()
        return
      } catch (error) {
        // A transaction of another process takes microseconds: asking again beats sleeping.
        if (!isBusy(error) || performance.now() > until) throw error
        if (spin > SPINS) Atomics.wait(PAUSE, 0, 0, 1)
      }
    }
  }

  const admitShared = (keyId: string, plan: Plan, nowMs: number): Admission => {
    lock()
    try {
      const counters = load(keyId)
      const admission = judge(counters, plan, nowMs)
      if (admission.isAdmitted) {
        write.run(keyId, new Uint8Array(counters.buffer), Math.floor(nowMs))
        own.set(keyId, counters)
      }
      if (nowMs - cleaned > FORGET_MS) {
        cleaned = nowMs
        forget.run(Math.floor(nowMs - FORGET_MS))
        own.clear()
      }
      return admission
    } finally {
      if (database.isTransaction) commit.run()
    }
  }

  const admitAlone = (keyId: string, plan: Plan, nowMs: number): Admission => {
    const counters = own.get(keyId) ?? new DataView(new ArrayBuffer(COUNTER_BYTES))
    own.set(keyId, counters)
    return judge(counters, plan, nowMs)
  }

  return {
    admit(keyId, plan, nowMs) {
      if (plan.per_second === null && plan.per_minute === null) return undefined
      const before = refused.get(keyId)
      if (before !== undefined) {
        const { nextMs } = before.admission.refusedBy!
        const isStill = nowMs < nextMs && nextMs - nowMs <= FORGET_MS && before.plan === plan
        if (isStill) return before.admission
        refused.delete(keyId)
      }
      let admission: Admission
      try {
        admission = admitShared(keyId, plan, nowMs)
      } catch (error) {
        onTrouble(error instanceof Error ? error.message : String(error))
        admission = admitAlone(keyId, plan, nowMs)
      }
      if (!admission.isAdmitted) refused.set(keyId, { plan, admission })
      return admission
    },
    look(keyId, plan, nowMs) {
      let counters = own.get(keyId) ?? new DataView(new ArrayBuffer(COUNTER_BYTES))
      try {
        counters = load(keyId)
      } catch (error) {
        onTrouble(error instanceof Error ? error.message : String(error))
      }
      return limitsOf(plan).map((limit) => stateOf(counters, limit, nowMs))
    },
    close: () => database.close(),
  }
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4))

function judge(counters: DataView, plan: Plan, nowMs: number): Admission {
  const limits = limitsOf(plan).map((limit) => stateOf(counters, limit, nowMs))
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
      // The first request of a window is the oldest one.
      resetMs: limit.resetMs > nowMs ? limit.resetMs : nowMs + limit.seconds * 1000,
    })),
  }
}

function stateOf(counters: DataView, limit: WindowLimit, nowMs: number): LimitState {
  return { ...limit, seconds: windowSeconds(limit.name), ...lookAt(counters, limit, nowMs) }
}

function limitsOf(plan: Plan): readonly WindowLimit[] {
  const limits: WindowLimit[] = []
  if (plan.per_second !== null) limits.push({ name: 'second', quota: plan.per_second })
  if (plan.per_minute !== null) limits.push({ name: 'minute', quota: plan.per_minute })
  return limits
}

function openCounters(file: string): DatabaseSync {
  const open = (): DatabaseSync => {
    const database = new DatabaseSync(file)
    database.exec('PRAGMA busy_timeout = 2000; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF')
    database.exec(
      `CREATE TABLE IF NOT EXISTS window (
         key_id TEXT PRIMARY KEY, counters BLOB NOT NULL, touched INTEGER NOT NULL
       ) STRICT, WITHOUT ROWID`,
    )
    database.exec('PRAGMA busy_timeout = 0')
    return database
  }
  try {
    return open()
  } catch (error) {
    if (isBusy(error)) throw error
    // Damaged, and worth no more than a minute.
    for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
    return open()
  }
}

function isBusy(error: unknown): boolean {
  // SQLITE_BUSY and SQLITE_LOCKED, with their extended codes.
  const code = (error as { errcode?: number }).errcode ?? 0
  return (code & 0xff) === 5 || (code & 0xff) === 6
}
