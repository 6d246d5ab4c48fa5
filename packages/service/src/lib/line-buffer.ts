/** Where gathered lines go in the end. */
export interface LineSink {
  write(text: string): unknown
}

const FULL = 16_384

/**
 * Gathers log lines and hands them on many at a time: a call for every line of a request log costs more
 * than making the line. The owner calls `flush` now and then, and at the end.
 */
export class LineBuffer {
  readonly #sink: LineSink
  #text = ''

  constructor(sink: LineSink) {
    this.#sink = sink
  }

  write(line: string): void {
    this.#text += line
    if (this.#text.length >= FULL) this.flush()
  }

  flush(): void {
    if (this.#text === '') return
    const text = this.#text
    this.#text = ''
    this.#sink.write(text)
  }
}
