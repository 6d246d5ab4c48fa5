import { spawnSync } from 'node:child_process'

/** Thrown by a step that cannot be tried here, with the reason. */
export class Skipped extends Error {}

/** Runs steps one after the other and keeps how they ended. */
export class Steps {
  readonly #counts = { passed: 0, failed: 0, skipped: 0 }

  /** One step; what it returns is printed beside its name. */
  async try(name: string, step: () => string | void | Promise<string | void>): Promise<void> {
    try {
      const note = await step()
      this.#counts.passed++
      console.log(`ok       ${name}${typeof note === 'string' ? `: ${note}` : ''}`)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      const isSkipped = error instanceof Skipped
      this.#counts[isSkipped ? 'skipped' : 'failed']++
      console.log(`${isSkipped ? 'skipped ' : 'FAILED  '} ${name}: ${why}`)
    }
  }

  /** Prints the sums and gives the exit code. */
  end(): number {
    const { passed, failed, skipped } = this.#counts
    console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
    return failed === 0 ? 0 : 1
  }
}

/** Runs a program; throws with its output where it fails. */
export function must(command: string, args: readonly string[], input?: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 1e8,
    ...(input === undefined ? {} : { input }),
  })
  if (error !== undefined) throw error
  if (status === 0) return stdout
  const text = `${stdout}${stderr}`.trim().split('\n').slice(-20).join('\n')
  throw new Error(`${command} ${args.slice(0, 3).join(' ')} … ended with ${status}: ${text}`)
}

/** True where a program can be started. */
export function has(command: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${command}`]).status === 0
}

/** Fails unless a condition holds. */
export function check(holds: boolean, message: string): void {
  if (!holds) throw new Error(message)
}
