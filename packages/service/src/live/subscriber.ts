/** Where the bytes of a subscriber go: a socket, or a test double. */
export interface Sink {
  /** Hands bytes over; they are never changed afterwards. */
  write(bytes: Uint8Array): void
  /** Bytes written between `cork` and `uncork` leave together. */
  cork(): void
  uncork(): void
  /** Bytes handed over that have not left the process. */
  readonly buffered: number
  /** Bytes that have left the process. */
  readonly left: number
}

/** Limits of one subscriber. */
export type SubscriberLimits = {
  /** Above this many buffered bytes rows are skipped. */
  readonly lagBytes: number
  /** Below this many buffered bytes rows are sent again. */
  readonly lowBytes: number
  /** Max buffered bytes; a subscriber who needs more is disconnected. */
  readonly mostBytes: number
  /** How long a lagging subscriber may accept no bytes before it is disconnected. */
  readonly stallMs: number
}

/** The limits of the service; a subscriber never holds more than 4 MB. */
const SUBSCRIBER_LIMITS: SubscriberLimits = {
  lagBytes: 1_048_576,
  lowBytes: 131_072,
  mostBytes: 4_194_304,
  stallMs: 3500,
}

/** Why a reader got a fresh snapshot instead of every row. */
export type ResyncReason = 'slow_reader' | 'resume_too_old' | 'rebuilt'

/** The last row a subscriber has before rows were skipped, and why they were. */
export type MissedRows = { readonly last: number; readonly reason: ResyncReason }

/** A channel in which a subscriber may have missed rows and can continue. */
export interface RecoverableChannel {
  recover(subscriber: Subscriber, missed: MissedRows): void
}

/**
 * One reader with a bounded queue. Rows are offered: when the queue is long, they are skipped and
 * remembered as missed. All other messages are sent, and a reader who accepts no bytes is disconnected.
 */
export class Subscriber {
  /** The channels in which rows were skipped. */
  readonly missed = new Map<RecoverableChannel, MissedRows>()
  messages = 0
  rows = 0
  bytes = 0
  private readonly sink: Sink
  private readonly limits: SubscriberLimits
  private readonly onStalled: () => void
  private queue: Uint8Array[] = []
  private queued = 0
  private hasClosed = false
  private isLagging = false
  private isSuspended = false
  private waiters: (() => void)[] = []
  private leftBytes = 0
  /** When bytes last left; 0: start to measure at the next check. */
  private leftMs = 0

  /** `onStalled` is called once, when the reader must be disconnected. */
  constructor(sink: Sink, onStalled: () => void, limits: Partial<SubscriberLimits> = {}) {
    this.sink = sink
    this.onStalled = onStalled
    this.limits = { ...SUBSCRIBER_LIMITS, ...limits }
  }

  get isClosed(): boolean {
    return this.hasClosed
  }

  /** Bytes that have not left the process. */
  get buffered(): number {
    return this.queued + this.sink.buffered
  }

  /** True when a sender that can wait should wait for `room`. */
  get isFull(): boolean {
    return this.buffered > this.limits.lowBytes
  }

  /** True while rows are skipped. */
  get lags(): boolean {
    return this.isLagging || this.isSuspended
  }

  /** Skips rows from now on: the reader is far behind although kernel buffers accept its bytes. */
  suspend(): void {
    this.isSuspended = true
  }

  /** Ends a suspension; true when rows may be sent again. */
  unsuspend(): boolean {
    if (!this.isSuspended) return false
    this.isSuspended = false
    return !this.isLagging
  }

  /** Queues rows unless too many bytes are waiting; false when they were skipped. */
  offer(bytes: Uint8Array, messages: number): boolean {
    if (this.hasClosed) return true
    if (this.lags) return false
    if (this.buffered + bytes.length > this.limits.lagBytes && this.buffered > 0) {
      this.isLagging = true
      this.leftMs = 0
      return false
    }
    this.rows += messages
    this.enqueue(bytes, messages)
    return true
  }

  /** Queues messages that must not be skipped. */
  send(bytes: Uint8Array, messages = 1): void {
    if (this.hasClosed) return
    this.enqueue(bytes, messages)
    if (this.buffered > this.limits.mostBytes) this.stall()
  }

  /** Writes the queue to the sink. */
  flush(): void {
    const { queue, sink } = this
    if (queue.length === 0) return
    this.queue = []
    this.queued = 0
    if (this.hasClosed) return
    if (queue.length === 1) sink.write(queue[0]!)
    else {
      sink.cork()
      for (const bytes of queue) sink.write(bytes)
      sink.uncork()
    }
  }

  /** Resolves when there is room for more, or when the subscriber is closed. */
  async room(): Promise<void> {
    this.flush()
    if (this.hasClosed || this.buffered <= this.limits.lowBytes) return
    this.leftMs = 0
    await new Promise<void>((resolve) => this.waiters.push(resolve))
  }

  /** Call when bytes have left; true when skipped rows can be recovered now. */
  drained(): boolean {
    if (this.buffered > this.limits.lowBytes) return false
    this.releaseWaiters()
    if (!this.isLagging) return false
    this.isLagging = false
    return !this.isSuspended
  }

  /** Call periodically: disconnects a reader who accepts no bytes. */
  check(nowMs: number): void {
    if (this.hasClosed || (!this.isLagging && this.waiters.length === 0)) return
    const { left } = this.sink
    if (left !== this.leftBytes || this.leftMs === 0) {
      this.leftBytes = left
      this.leftMs = nowMs
    } else if (nowMs - this.leftMs >= this.limits.stallMs) this.stall()
  }

  /** Drops the queue and accepts no more messages; waiting senders continue. */
  close(): void {
    if (this.hasClosed) return
    this.hasClosed = true
    this.queue = []
    this.queued = 0
    this.releaseWaiters()
  }

  private enqueue(bytes: Uint8Array, messages: number): void {
    this.queue.push(bytes)
    this.queued += bytes.length
    this.messages += messages
    this.bytes += bytes.length
  }

  private releaseWaiters(): void {
    const { waiters } = this
    this.waiters = []
    for (const resolve of waiters) resolve()
  }

  private stall(): void {
    if (this.hasClosed) return
    this.close()
    this.onStalled()
  }
}
