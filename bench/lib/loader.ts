import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { stopChild } from './child.ts'
import type { LoadJob, LoadResult } from './http-load.ts'

const CHILD = fileURLToPath(new URL('./http-load-child.ts', import.meta.url))

/**
 * The load of a benchmark in a process of its own, one for all its jobs: one that has just started is
 * still compiling when a short job ends.
 */
export class Loader {
  readonly #child = spawn(process.execPath, [CHILD], { stdio: ['pipe', 'pipe', 'inherit'] })
  readonly #lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()

  /** Does a job and waits for its result; one at a time. */
  async run(job: LoadJob): Promise<LoadResult> {
    this.#child.stdin.write(`${JSON.stringify(job)}\n`)
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error('the load ended before its job')
    return JSON.parse(value) as LoadResult
  }

  /** Ends the process. */
  stop(): Promise<void> {
    return stopChild(this.#child)
  }
}
