/** Lets pieces of work happen one after the other, in the order in which they came. */
export class Turns {
  private last: Promise<unknown> = Promise.resolve()

  /** Runs work when all before it is done; what it throws is its own. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.last.then(work)
    this.last = turn.catch(() => undefined)
    return turn
  }
}
