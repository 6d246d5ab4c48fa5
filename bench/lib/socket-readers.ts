import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'

/** Readers of a WebSocket server: where they connect, what they say first, which frames count. */
export type ReadersJob = {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly count: number
  /** Sent once the connection stands. */
  readonly first: readonly string[]
  /** Text in a message after which a reader is ready; absent: ready at once. */
  readonly readyText?: string
  /** Shorter messages (heartbeats) do not count. */
  readonly leastBytes: number
  /** How many of the readers stop reading once they are ready. */
  readonly stalled: number
  /** Microseconds that turn the machine's monotonic clock into the epoch of the rows. */
  readonly epochOffset: number
}

/** What the readers saw since times were last asked for. */
export type ReaderTimes = { readonly count: number; readonly p50Ms: number; readonly p99Ms: number }

/** How a reader that had stopped fared, once it reads on. */
export type StalledFate = {
  readonly messages: number
  readonly isClosed: boolean
  /** Null where the connection ended without a word. */
  readonly closeCode: number | null
  readonly resyncs: number
}

const RECEIVED = Buffer.from('"received_time":')
const DIGITS = 16
const CLOSE = 8
const PING = 9

/** The monotonic clock in microseconds, the same for all processes of the machine. */
export function monotonicMicros(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/**
 * Many readers on bare sockets: they share the cores with the server that they measure, so frames are
 * counted and looked into, not parsed.
 */
export class SocketReaders {
  /** Messages that counted, over all readers. */
  total = 0
  /** A message as text, for whoever wants to send the same bytes. */
  sample = ''
  private readonly job: ReadersJob
  private readonly readers: Reader[] = []
  private times: Float64Array = new Float64Array(1 << 20)
  private timeCount = 0
  private isTiming = false
  private waiting: { readonly total: number; readonly resolve: () => void } | undefined

  private constructor(job: ReadersJob) {
    this.job = job
  }

  /** Connects all of them and waits until they are ready. */
  static async open(job: ReadersJob): Promise<SocketReaders> {
    const readers = new SocketReaders(job)
    const opening: Promise<void>[] = []
    for (let index = 0; index < job.count; index++) {
      const reader = new Reader(job, index < job.stalled, readers)
      readers.readers.push(reader)
      opening.push(reader.ready)
      // A listen queue is no longer than this.
      if (opening.length % 50 === 0) await Promise.all(opening)
    }
    await Promise.all(opening)
    return readers
  }

  /** Resolves when so many messages have come. */
  reach(total: number): Promise<void> {
    if (this.total >= total) return Promise.resolve()
    return new Promise((resolve) => {
      this.waiting = { total, resolve }
    })
  }

  /** Begins to note how old rows are when they arrive. */
  startTiming(): void {
    this.isTiming = true
    this.timeCount = 0
  }

  /** Ends it and gives the times. */
  stopTiming(): ReaderTimes {
    this.isTiming = false
    const times = this.times.subarray(0, this.timeCount).sort()
    const at = (share: number): number => (times[Math.floor(times.length * share)] ?? 0) / 1000
    return { count: times.length, p50Ms: at(0.5), p99Ms: at(0.99) }
  }

  /** Lets those that had stopped read on until nothing more comes, and tells how they fared. */
  async wakeStalled(): Promise<readonly StalledFate[]> {
    const stalled = this.readers.slice(0, this.job.stalled)
    for (const reader of stalled) reader.resume()
    await new Promise((resolve) => setTimeout(resolve, 1000))
    return stalled.map(({ messages, isEnded: isClosed, closeCode, resyncs }) => {
      return { messages, isClosed, closeCode, resyncs }
    })
  }

  close(): void {
    for (const reader of this.readers) reader.close()
  }

  /** Told of every message that counts. */
  took(bytes: Buffer, start: number, end: number): void {
    this.total++
    if (this.isTiming) this.time(bytes, start, end)
    if (this.sample === '') this.sample = bytes.toString('utf8', start, end)
    if (this.waiting === undefined || this.total < this.waiting.total) return
    const { resolve } = this.waiting
    this.waiting = undefined
    resolve()
  }

  private time(bytes: Buffer, start: number, end: number): void {
    const at = bytes.indexOf(RECEIVED, start)
    if (at < 0 || at > end) return
    let received = 0
    const from = at + RECEIVED.length
    for (let place = from; place < from + DIGITS; place++) {
      received = received * 10 + bytes[place]! - 48
    }
    if (this.timeCount === this.times.length) {
      const grown = new Float64Array(this.times.length * 2)
      grown.set(this.times)
      this.times = grown
    }
    this.times[this.timeCount++] = monotonicMicros() + this.job.epochOffset - received
  }
}

/** One connection. */
class Reader {
  readonly ready: Promise<void>
  messages = 0
  isEnded = false
  closeCode: number | null = null
  resyncs = 0
  private readonly job: ReadersJob
  private readonly isStalled: boolean
  private readonly all: SocketReaders
  private readonly socket: Socket
  private rest: Buffer = Buffer.alloc(0)
  private isUpgraded = false
  private isReady = false
  private isClosed = false
  private setReady!: () => void
  private fail!: (error: Error) => void

  constructor(job: ReadersJob, isStalled: boolean, all: SocketReaders) {
    this.job = job
    this.isStalled = isStalled
    this.all = all
    this.ready = new Promise((resolve, reject) => {
      this.setReady = resolve
      this.fail = reject
    })
    this.socket = connect(job.port, '127.0.0.1')
    this.socket.setNoDelay(true)
    this.socket.on('connect', () => this.upgrade())
    this.socket.on('data', (piece: Buffer) => this.read(piece))
    this.socket.on('error', (error) => {
      if (!this.isClosed) this.fail(error)
    })
    this.socket.on('close', () => {
      this.isEnded = true
      this.fail(new Error('the server closed a connection'))
    })
  }

  resume(): void {
    this.socket.resume()
  }

  close(): void {
    this.isClosed = true
    this.socket.destroy()
  }

  private upgrade(): void {
    const { path, headers } = this.job
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    this.socket.write(
      `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: Upgrade\r\n` +
        `sec-websocket-key: ${randomBytes(16).toString('base64')}\r\nsec-websocket-version: 13\r\n` +
        `${lines.join('')}\r\n`,
    )
  }

  private read(piece: Buffer): void {
    let bytes = this.rest.length === 0 ? piece : Buffer.concat([this.rest, piece])
    if (!this.isUpgraded) {
      const end = bytes.indexOf('\r\n\r\n')
      if (end < 0) {
        this.rest = bytes
        return
      }
      const head = bytes.toString('latin1', 0, end)
      if (!head.startsWith('HTTP/1.1 101')) {
        this.fail(new Error(`no upgrade: ${head.slice(0, 200)}`))
        return
      }
      this.isUpgraded = true
      bytes = bytes.subarray(end + 4)
      for (const message of this.job.first) this.socket.write(toClientFrame(message))
      if (this.job.readyText === undefined) this.becomeReady()
    }
    let at = 0
    for (;;) {
      if (bytes.length - at < 2) break
      let length = bytes[at + 1]! & 127
      let head = 2
      if (length === 126) {
        if (bytes.length - at < 4) break
        length = bytes.readUInt16BE(at + 2)
        head = 4
      } else if (length === 127) {
        if (bytes.length - at < 10) break
        length = bytes.readUInt32BE(at + 6)
        head = 10
      }
      const end = at + head + length
      if (end > bytes.length) break
      this.take(bytes, bytes[at]! & 15, at + head, end)
      at = end
    }
    this.rest = bytes.subarray(at)
  }

  private take(bytes: Buffer, op: number, start: number, end: number): void {
    if (op === CLOSE) {
      this.closeCode = end - start >= 2 ? bytes.readUInt16BE(start) : 0
      return
    }
    if (op === PING) {
      // Who answers no pings while much is sent is taken for one that does not read.
      const answer = Buffer.from([0x8a, 0x80 | (end - start), 0, 0, 0, 0])
      this.socket.write(Buffer.concat([answer, bytes.subarray(start, end)]))
      return
    }
    const { readyText, leastBytes } = this.job
    if (!this.isReady && readyText !== undefined) {
      const text = bytes.toString('utf8', start, end)
      if (text.startsWith('{"type":"error"')) this.fail(new Error(text))
      if (text.includes(readyText)) this.becomeReady()
      return
    }
    this.messages++
    if (this.isStalled) {
      if (bytes.toString('latin1', start, start + 16).startsWith('{"type":"resync"')) this.resyncs++
      return
    }
    if (end - start >= leastBytes) this.all.took(bytes, start, end)
  }

  private becomeReady(): void {
    this.isReady = true
    if (this.isStalled) this.socket.pause()
    this.setReady()
  }
}

/** A text frame as clients send it: masked, here with zeros. */
function toClientFrame(text: string): Buffer {
  const body = Buffer.from(text)
  const head =
    body.length < 126
      ? Buffer.from([0x81, 0x80 | body.length])
      : Buffer.from([0x81, 0x80 | 126, body.length >> 8, body.length & 255])
  return Buffer.concat([head, Buffer.alloc(4), body])
}
