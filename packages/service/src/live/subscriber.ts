import type { LeftOut } from './style.ts'

/** Where bytes of a subscriber go: a socket, or what a test puts in its place. */
export interface Sink {
  /** Hands bytes over; they are never changed afterwards. */
  write(bytes: Uint8Array): void
  /** What is written between the two leaves together. */
  cork(): void
  uncork(): void
  /** Bytes handed over that have not left, and those that have. */
  readonly buffered: number
  readonly left: number
}

/** Bounds of one subscriber. */
export type SubscriberLimits = {
  /** Above so many waiting bytes rows are left out. */
  readonly lagBytes: number
  /** Below so many, they come again. */
  readonly lowBytes: number
  /** Never more than so many; a subscriber who needs more is let go. */
  readonly mostBytes: number
  /** A subscriber who lags and takes nothing for so long is let go. */
  readonly stallMs: number
}

/** The bounds that the service uses; a subscriber never holds more than 4 MB. */
export const SUBSCRIBER_LIMITS: SubscriberLimits = {
  lagBytes: 1_048_576,
  lowBytes: 131_072,
  mostBytes: 4_194_304,
  stallMs: 3500,
}

/** The last row that a subscriber has before those that were left out, and why they were. */
export type Missed = { readonly last: number; readonly reason: LeftOut }

/** A place whose rows a subscriber may have missed, and can go on with. */
export interface Missable {
  recover(subscriber: Subscriber, missed: Missed): void
}

/**
 * One reader with a bounded queue. Rows are offered: when the queue is long they are left out and
 * remembered as missed. Everything else is sent, and a reader who takes nothing is let go.
 */
export class Subscriber {
  /** Where rows were left out. */
  readonly missed = new Map<Missable, Missed>()
  messages = 0
  rows = 0
  bytes = 0
  isClosed = false
  private readonly sink: Sink
  private readonly limits: SubscriberLimits
  private readonly onStalled: () => void
  private queue: Uint8Array[] = []
  private queued = 0
  private isLagging = false
  private isHeld = false
  private waiters: (() => void)[] = []
  private left = 0
  private leftAt = 0

  /** `onStalled` is called once, when the reader must go. */
  constructor(sink: Sink, onStalled: () => void, limits: Partial<SubscriberLimits> = {}) {
    this.sink = sink
    this.onStalled = onStalled
    this.limits = { ...SUBSCRIBER_LIMITS, ...limits }
  }

  /** Bytes that have not left. */
  get buffered(): number {
    return this.queued + this.sink.buffered
  }

  /** True when whoever can wait should wait for `room`. */
  get isFull(): boolean {
    return this.buffered > this.limits.lowBytes
  }

  /** True while rows are left out. */
  get lags(): boolean {
    return this.isLagging || this.isHeld
  }

  /** Leaves rows out from now on: the reader is far behind, whatever the buffers of the system hold. */
  hold(): void {
    this.isHeld = true
  }

  /** Ends that; true when rows may come again. */
  unhold(): boolean {
    if (!this.isHeld) return false
    this.isHeld = false
    return !this.isLagging
  }

  /** Takes rows unless too many wait; false: they were left out. */
  offer(bytes: Uint8Array, messages: number): boolean {
    if (this.isClosed) return true
    if (this.lags) return false
    if (this.buffered + bytes.length > this.limits.lagBytes && this.buffered > 0) {
      this.isLagging = true
      this.watch()
      return false
    }
    this.rows += messages
    this.put(bytes, messages)
    return true
  }

  /** Takes what must not be lost. */
  send(bytes: Uint8Array, messages = 1): void {
    if (this.isClosed) return
    this.put(bytes, messages)
    if (this.buffered > this.limits.mostBytes) this.stall()
  }

  /** Hands over what was taken since the last time. */
  flush(): void {
    const { queue, sink } = this
    if (queue.length === 0) return
    this.queue = []
    this.queued = 0
    if (this.isClosed) return
    if (queue.length === 1) sink.write(queue[0]!)
    else {
      sink.cork()
      for (const bytes of queue) sink.write(bytes)
      sink.uncork()
    }
  }

  /** Resolves when there is room for more, or nobody to read it. */
  async room(): Promise<void> {
    this.flush()
    if (this.isClosed || this.buffered <= this.limits.lowBytes) return
    this.watch()
    await new Promise<void>((resolve) => this.waiters.push(resolve))
  }

  /** To be called when bytes have left; true when rows may come again. */
  drained(): boolean {
    if (this.buffered > this.limits.lowBytes) return false
    const { waiters } = this
    this.waiters = []
    for (const resolve of waiters) resolve()
    if (!this.isLagging) return false
    this.isLagging = false
    return !this.isHeld
  }

  /** To be called now and then: lets a reader go who takes nothing. */
  check(nowMs: number): void {
    if (this.isClosed || (!this.isLagging && this.waiters.length === 0)) return
    const { left } = this.sink
    if (left !== this.left || this.leftAt === 0) {
      this.left = left
      this.leftAt = nowMs
    } else if (nowMs - this.leftAt >= this.limits.stallMs) this.stall()
  }

  /** Takes nothing more; whoever waits for room is let go. */
  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.queue = []
    this.queued = 0
    const { waiters } = this
    this.waiters = []
    for (const resolve of waiters) resolve()
  }

  private put(bytes: Uint8Array, messages: number): void {
    this.queue.push(bytes)
    this.queued += bytes.length
    this.messages += messages
    this.bytes += bytes.length
  }

  private watch(): void {
    this.leftAt = 0
  }

  private stall(): void {
    if (this.isClosed) return
    this.close()
    this.onStalled()
  }
}
