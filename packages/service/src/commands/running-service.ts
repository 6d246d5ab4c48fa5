import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { DataFolder } from '../lib/data-folder.ts'

const FILE = 'serve.json'
const ANSWER_MS = 2000

/** How a service that records into a folder can be reached. */
type RunningService = {
  readonly pid: number
  /** Where it answers: the API, or the operators' port where it serves none. */
  readonly url: string
  /** An address that answers while it runs. */
  readonly health: string
  /** The address of its metrics. */
  readonly metrics?: string
}

/** A second service was started over a folder that another one records into. */
class AlreadyRunning extends PriorbookError {
  readonly hint = 'Open that address, or stop it first. --data DIR records into another folder.'

  constructor({ pid, url }: RunningService, options: ErrorOptions) {
    super('already_running', `already running at ${url} (process ${pid})`, options)
    this.name = 'AlreadyRunning'
  }
}

/** Notes where this service answers, for a second one that is started over the same folder. */
export function noteRunning({ path }: DataFolder, place: Omit<RunningService, 'pid'>): void {
  const note: RunningService = { pid: process.pid, ...place }
  writeFileSync(join(path, FILE), `${JSON.stringify(note)}\n`)
}

/** Removes the note of this service; one that another service wrote meanwhile stays. */
export function forgetRunning(data: DataFolder): void {
  if (readNote(data)?.pid === process.pid) rmSync(join(data.path, FILE), { force: true })
}

/** The metrics of the service that records into a folder; undefined where none noted them. */
export function runningMetrics(data: DataFolder): string | undefined {
  return readNote(data)?.metrics
}

/** Names the service that keeps this one from writing; the error itself where none answers. */
export async function explainLocked(cause: unknown, data: DataFolder): Promise<unknown> {
  if (!(cause instanceof PriorbookError) || cause.code !== 'store_locked') return cause
  const note = readNote(data)
  if (note === undefined || note.pid === process.pid || !(await answers(note.health))) return cause
  return new AlreadyRunning(note, { cause })
}

// A service that was killed leaves its note, so it is believed only where the address answers.
async function answers(url: string): Promise<boolean> {
  try {
    await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) })
    return true
  } catch (error) {
    // A certificate that this machine does not trust is an answer too.
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
    return code?.includes('CERT') === true
  }
}

function readNote({ path }: DataFolder): RunningService | undefined {
  try {
    return JSON.parse(readFileSync(join(path, FILE), 'utf8')) as RunningService
  } catch {
    return undefined
  }
}
