import { readFileSync } from 'node:fs'

/** What a peer's process is told, as a JSON file. */
export type PeerJob = {
  /** Folder with the recorded or generated tickers. */
  readonly recordings: string
  /** Seed of the plan of reads. */
  readonly seed: number
  /** Folder the engine may fill; it is emptied first. */
  readonly work: string
  /** Longest time for one kind of read before fewer reads are measured. */
  readonly readBudgetMs: number
  /** Longest time for one kind of append. */
  readonly appendBudgetMs: number
}

/** Reads and checks the job file a peer's process was started with. */
export function parseJob(file: string): PeerJob {
  const job: unknown = JSON.parse(readFileSync(file, 'utf8'))
  if (typeof job !== 'object' || job === null) throw new Error('The job is no object')
  const fields = new Map(Object.entries(job))
  return {
    recordings: text('recordings'),
    seed: number('seed', 1),
    work: text('work'),
    readBudgetMs: number('readBudgetMs', 20_000),
    appendBudgetMs: number('appendBudgetMs', 10_000),
  }

  function text(name: string): string {
    const value: unknown = fields.get(name)
    if (typeof value !== 'string') throw new Error(`The job has no text ${name}`)
    return value
  }

  function number(name: string, otherwise: number): number {
    const value: unknown = fields.get(name) ?? otherwise
    if (typeof value !== 'number') throw new Error(`${name} of the job is no number`)
    return value
  }
}
