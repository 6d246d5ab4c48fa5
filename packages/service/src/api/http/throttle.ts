// Max requests that start per turn of the event loop. A client may pipeline thousands of requests in one
// packet; the requests of other clients get their turn in between.
const MAX_STARTS_PER_TURN = 32

/** Limits how many items start in one turn of the event loop; the others wait in order. */
export class Throttle<Item> {
  readonly #start: (item: Item) => void
  #waiting: Item[] = []
  #started = 0
  #isArmed = false

  constructor(start: (item: Item) => void) {
    this.#start = start
  }

  /** Starts an item now, or in one of the next turns. */
  add(item: Item): void {
    if (this.#started >= MAX_STARTS_PER_TURN || this.#waiting.length > 0) {
      this.#waiting.push(item)
    } else {
      this.#started++
      this.#start(item)
    }
    this.#arm()
  }

  #arm(): void {
    if (this.#isArmed) return
    this.#isArmed = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#isArmed = false
    const turn = this.#waiting.splice(0, MAX_STARTS_PER_TURN)
    this.#started = turn.length
    for (const item of turn) this.#start(item)
    if (this.#waiting.length > 0 || turn.length > 0) this.#arm()
  }
}
