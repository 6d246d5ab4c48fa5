// A client may send thousands of requests in one packet; the others' turn comes after so many.
const A_TURN = 32

/** Lets only so many requests start in one turn of the event loop; the rest wait in order. */
export class Turnstile<Item> {
  readonly #run: (item: Item) => void
  #waiting: Item[] = []
  #started = 0
  #isArmed = false

  constructor(run: (item: Item) => void) {
    this.#run = run
  }

  pass(item: Item): void {
    if (this.#started >= A_TURN || this.#waiting.length > 0) {
      this.#waiting.push(item)
    } else {
      this.#started++
      this.#run(item)
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
    const turn = this.#waiting.splice(0, A_TURN)
    this.#started = turn.length
    for (const item of turn) this.#run(item)
    if (this.#waiting.length > 0 || turn.length > 0) this.#arm()
  }
}
