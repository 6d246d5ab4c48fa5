/** The destination of buffered lines. */
export interface LineSink {
  write(text: string): unknown
}

const FULL = 16_384

/**
 * Buffers log lines and writes many at a time: one write per line of a request log costs more than
 * formatting the line. The owner calls `flush` regularly, and at the end.
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
