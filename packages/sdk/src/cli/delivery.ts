import { messageTime, type LogEnd } from '../backtest/index.ts'
import type { LiveMessage } from '../client/index.ts'
import { timeOf } from '../wire/index.ts'
import { startLongTimer } from './long-timer.ts'

// Max delays that are kept for the median.
const MAX_DELAYS = 100_000

/** What was received, and how late. */
export class Delivery {
  private to = 0
  private rows = 0
  private max = 0
  private readonly delays: number[] = []
  private readonly first = new Map<string, number>()
  private readonly seconds: number | undefined
  private readonly stop: () => void

  constructor(seconds: number | undefined, stop: () => void) {
    this.seconds = seconds
    this.stop = stop
  }

  /** Follows what comes, and ends the run so many seconds after the first message. */
  async *watch(messages: AsyncIterable<LiveMessage>): AsyncGenerator<LiveMessage> {
    let stopTimer: (() => void) | undefined
    try {
      for await (const message of messages) {
        if (this.seconds !== undefined) stopTimer ??= startLongTimer(this.seconds * 1000, this.stop)
        // The first book of a subscription may be old.
        if (message.type === 'update' || message.type === 'trade') {
          const at = timeOf(message.row.received_time)
          if (at !== undefined) this.noteDelay(Date.now() - at / 1000)
        }
        yield message
      }
    } finally {
      // Also where the stream throws or is left: a timer would keep the process up until its end.
      stopTimer?.()
    }
  }

  /** Follows what the run is given: the first row of each stream, and its clock. */
  async *watchOrdered(messages: AsyncIterable<LiveMessage>): AsyncGenerator<LiveMessage> {
    for await (const message of messages) {
      this.noteTime(messageTime(message) ?? 0)
      if (message.type === 'heartbeat') this.noteTime(timeOf(message.server_time) ?? 0)
      if (message.type === 'snapshot' || message.type === 'update' || message.type === 'trade') {
        const kind = message.type === 'trade' ? 'trade' : 'book'
        this.noteFirst(`${kind} ${message.row.venue}:${message.key}`, message.row.sequence)
      }
      yield message
    }
  }

  private noteTime(at: number): void {
    this.to = Math.max(this.to, at)
  }

  private noteFirst(stream: string, sequence: number): void {
    if (!this.first.has(stream)) this.first.set(stream, sequence)
  }

  /** The last line of the log. */
  end(pnl: string): LogEnd {
    const sorted = this.delays.toSorted((left, right) => left - right)
    const median = sorted[Math.floor(sorted.length / 2)] ?? 0
    const delivery = { rows: this.rows, median_ms: round(median), max_ms: round(this.max) }
    return { type: 'end', to: this.to, pnl, first: Object.fromEntries(this.first), delivery }
  }

  private noteDelay(ms: number): void {
    this.rows++
    this.max = Math.max(this.max, ms)
    if (this.delays.length < MAX_DELAYS) this.delays.push(ms)
  }
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
