/** An async queue: values are pushed in and read one by one in a loop. The producer bounds it. */
export class AsyncQueue<Value> implements AsyncIterator<Value, void, undefined> {
  private readonly values: Value[] = []
  private head = 0
  private isOver = false
  private waiting: ((result: IteratorResult<Value, void>) => void) | undefined

  get length(): number {
    return this.values.length - this.head
  }

  push(value: Value): void {
    if (this.isOver) return
    const { waiting } = this
    if (waiting === undefined) {
      this.values.push(value)
      return
    }
    this.waiting = undefined
    waiting({ done: false, value })
  }

  /** Ends the queue; queued values can still be read. */
  end(): void {
    this.isOver = true
    this.waiting?.({ done: true, value: undefined })
    this.waiting = undefined
  }

  /** Drops all queued values. */
  clear(): void {
    this.values.length = 0
    this.head = 0
  }

  next(): Promise<IteratorResult<Value, void>> {
    if (this.head < this.values.length) {
      const value = this.values[this.head++]!
      // Read values are cut off in batches: shifting one by one would copy the rest each time.
      if (this.head > 1024 && this.head * 2 > this.values.length) {
        this.values.splice(0, this.head)
        this.head = 0
      }
      return Promise.resolve({ done: false, value })
    }
    if (this.isOver) return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve) => {
      this.waiting = resolve
    })
  }
}
