import type { Subscriber } from '../../live/subscriber.ts'
import type { StreamTiming } from './services.ts'

/** What a heartbeat does to its connection. */
export interface HeartbeatActions {
  sendHeartbeat(): void
  ping(): void
  /** Ends a connection whose client does not answer. */
  terminate(): void
  /** Sends fresh snapshots for skipped rows. */
  recover(): void
}

// Bytes after which a client is pinged without waiting for the interval.
const PING_BYTES = 65_536
// Unanswered bytes above which a client counts as far behind.
const FAR_BYTES = 262_144
// Unanswered pings that end a connection.
const MAX_UNANSWERED = 2

/** Sends heartbeats and pings, and suspends the rows of a client that answers too late. */
export class Heartbeat {
  private readonly subscriber: Subscriber
  private readonly timing: StreamTiming
  private readonly actions: HeartbeatActions
  private beatMs: number
  private pingedMs: number
  private pingedBytes = 0
  private unanswered = 0
  /** When the oldest unanswered ping was sent, and how many bytes had been sent before it. */
  private askedMs = 0
  private askedBytes = 0

  constructor(
    subscriber: Subscriber,
    timing: StreamTiming,
    actions: HeartbeatActions,
    nowMs: number,
  ) {
    this.subscriber = subscriber
    this.timing = timing
    this.actions = actions
    this.beatMs = nowMs
    this.pingedMs = nowMs
  }

  /** Call a few times per second. */
  pulse(nowMs: number): void {
    const { subscriber, timing } = this
    if (nowMs - this.beatMs >= timing.heartbeatMs) {
      this.beatMs = nowMs
      this.actions.sendHeartbeat()
    }
    const hasSentMuch = subscriber.bytes - this.pingedBytes > PING_BYTES
    const isIntervalOver = nowMs - this.pingedMs >= timing.pingMs
    if (isIntervalOver || (hasSentMuch && this.unanswered === 0)) this.ping(nowMs)
    this.suspendIfFar(nowMs)
  }

  /** The client has answered a ping. */
  answered(): void {
    this.unanswered = 0
    if (this.subscriber.unsuspend()) this.actions.recover()
  }

  private ping(nowMs: number): void {
    this.pingedMs = nowMs
    this.pingedBytes = this.subscriber.bytes
    if (this.unanswered === 0) {
      this.askedMs = nowMs
      this.askedBytes = this.pingedBytes
    }
    if (this.unanswered >= MAX_UNANSWERED) {
      this.actions.terminate()
      return
    }
    this.unanswered++
    this.actions.ping()
  }

  // Kernel socket buffers can hide a stalled client for megabytes. Count everything sent since the
  // oldest unanswered ping as unread.
  private suspendIfFar(nowMs: number): void {
    if (this.unanswered === 0 || nowMs - this.askedMs < this.timing.farMs) return
    if (this.subscriber.bytes - this.askedBytes > FAR_BYTES) this.subscriber.suspend()
  }
}
