import type { LiveMessage } from '../client/index.ts'
import { fitParts, printSpan, type CommandIo } from '../command-line/index.ts'
import { isMarketState } from '../domain/index.ts'
import { gapWords } from './gap-words.ts'

// Rows of this many milliseconds make the rate.
const RATE_MS = 5000

/** The last line of `watch`: the connection, what is missing, and how many rows come. */
export class WatchFooter {
  private readonly recent: number[] = []
  private link = 'connecting'
  private warning = ''
  private gaps = 0
  private holes = 0

  /** Notes what a message says about the connection or about missing rows. */
  apply(message: LiveMessage): void {
    switch (message.type) {
      case 'welcome':
        this.link = 'live'
        break
      case 'gap': {
        const { end_time: end, reason } = message.gap
        if (end === null && !isMarketState(reason)) this.gaps++
        this.warning = end === null ? gapWords(message.gap) : ''
        break
      }
      case 'resync':
        this.warning = `rows after ${message.after_sequence} were left out: ${message.reason}`
        break
      case 'hole':
        this.holes++
        this.warning = `rows after ${message.after_sequence} are missing`
        break
      case 'disconnected':
        this.link = `reconnecting in ${printSpan(message.retry_ms)} (${message.reason})`
        break
      default:
        break
    }
  }

  /** Counts a row of a book, which ends a warning. */
  countRow(now: number): void {
    this.recent.push(now)
    this.warning = ''
  }

  draw(columns: number, paint: CommandIo['paint'], now: number): string {
    while (this.recent.length > 0 && this.recent[0]! < now - RATE_MS) this.recent.shift()
    const rate = (this.recent.length / RATE_MS) * 1000
    // In the order of what a narrow terminal leaves out last.
    const parts = [
      this.link,
      this.warning,
      `${rate.toFixed(1)} rows/s`,
      'q quits',
      this.gaps > 0 ? `${this.gaps} ${this.gaps === 1 ? 'gap' : 'gaps'}` : '',
      this.holes > 0 ? `${this.holes} holes` : '',
    ]
    const isFine = this.link === 'live' && this.warning === ''
    return `${paint(isFine ? 'green' : 'yellow', '●')} ${fitParts(parts, columns - 2)}`
  }
}
