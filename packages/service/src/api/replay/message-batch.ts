/** Encoded messages in sending order, in one buffer. */
export class MessageBatch {
  count = 0
  /** Per message: when its item was received, and the row that it contains, if any. */
  readonly at: number[] = []
  readonly rowPrefix: (string | undefined)[] = []
  readonly rowSequence: number[] = []
  private readonly starts: number[] = []
  private bytes: Buffer
  private end = 0

  constructor(room: number) {
    this.bytes = Buffer.allocUnsafeSlow(room)
  }

  /** The bytes of a message; they are never changed afterwards. */
  message(index: number): Uint8Array {
    return this.bytes.subarray(this.starts[index], this.starts[index + 1] ?? this.end)
  }

  get length(): number {
    return this.end
  }

  /** Begins a message. */
  begin(at: number, rowPrefix?: string, rowSequence = 0): void {
    this.starts[this.count] = this.end
    this.at[this.count] = at
    this.rowPrefix[this.count] = rowPrefix
    this.rowSequence[this.count++] = rowSequence
  }

  /** Makes room for `length` more bytes. */
  reserve(length: number): void {
    if (this.end + length <= this.bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(this.end + length, this.bytes.length * 2))
    this.bytes.copy(grown, 0, 0, this.end)
    this.bytes = grown
  }

  /** Appends text of any characters. */
  text(text: string): void {
    this.reserve(text.length * 3)
    this.end += this.bytes.write(text, this.end)
  }

  /** Appends bytes; the room must be reserved. */
  copy(from: Buffer, start: number, end: number): void {
    from.copy(this.bytes, this.end, start, end)
    this.end += end - start
  }

  /** Appends a number; the room must be reserved. */
  digits(value: number): void {
    let digits = 1
    for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) digits++
    let rest = value
    for (let at = this.end + digits - 1; at >= this.end; at--) {
      const next = Math.floor(rest / 10)
      this.bytes[at] = 48 + rest - next * 10
      rest = next
    }
    this.end += digits
  }
}
