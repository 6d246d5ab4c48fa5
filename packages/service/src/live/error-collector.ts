/** Runs independent tasks to the end even if some fail, and keeps the first error. */
export class ErrorCollector {
  private readonly errors: unknown[] = []

  get hasErrors(): boolean {
    return this.errors.length > 0
  }

  /** Runs a task and collects the error it throws. */
  async run(task: () => Promise<void>): Promise<void> {
    try {
      await task()
    } catch (error) {
      this.errors.push(error)
    }
  }

  /** Throws the first collected error, if there is one. */
  throwFirst(): void {
    if (this.hasErrors) throw this.errors[0]
  }
}
