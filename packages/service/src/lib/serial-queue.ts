/** Runs async tasks one at a time, in the order in which they were added. */
export class SerialQueue {
  private last: Promise<unknown> = Promise.resolve()

  /** Runs a task after all earlier ones; a failure reaches its caller and does not stop the queue. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.last.then(task)
    this.last = result.catch(() => undefined)
    return result
  }
}
