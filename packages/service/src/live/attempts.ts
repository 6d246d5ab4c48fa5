/** Pieces of work of which none keeps the others from being done. */
export class Attempts {
  private readonly failures: unknown[] = []

  get haveFailed(): boolean {
    return this.failures.length > 0
  }

  /** Does a piece of work; what it throws is kept for the end. */
  async make(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.failures.push(error)
    }
  }

  /** Throws what went wrong first. */
  end(): void {
    if (this.haveFailed) throw this.failures[0]
  }
}
