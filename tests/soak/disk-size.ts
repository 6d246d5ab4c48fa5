import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The bytes of a data folder at a time, by what they are for. */
export type DiskSize = {
  /** Seconds since the start. */
  readonly at: number
  readonly tape: number
  /** SQLite's log beside the tape. */
  readonly log: number
  readonly journal: number
  readonly other: number
  readonly total: number
  /** Messages since the start: with a limit by age, the disk follows their rate. */
  readonly messages: number
}

/** Measures a data folder. */
export function measureDisk(folder: string, at: number, messages: number): DiskSize {
  const size = { tape: 0, log: 0, journal: 0, other: 0 }
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    // Files come and go while the recorder runs.
    const stat = statSync(join(folder, name), { throwIfNoEntry: false })
    if (stat?.isFile() !== true) continue
    if (name === 'tape.db') size.tape += stat.size
    else if (name === 'tape.db-wal') size.log += stat.size
    else if (name.startsWith('journal')) size.journal += stat.size
    else size.other += stat.size
  }
  const total = size.tape + size.log + size.journal + size.other
  return { at, ...size, total, messages }
}

/** The middle one of some numbers. */
export function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
}
