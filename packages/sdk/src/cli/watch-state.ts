import { decimalText, isLastStatus, type MarketStatus } from '../domain/index.ts'
import { OrderBook, type LiveMessage } from '../client/index.ts'
import { cut, fitParts, toPlain, type CommandIo } from '../command-line/index.ts'
import { bookLine, groupDigits, layLadder } from './ladder-view.ts'
import { shortTime } from './command.ts'
import { WatchFooter } from './watch-footer.ts'

const TRADES = 5

type Seen = { readonly book: OrderBook; outcome: string | undefined }

/** The state of a market in `watch`, updated by messages, and how it is drawn. */
export class WatchState {
  readonly name: string
  private readonly books = new Map<string, Seen>()
  private readonly trades: string[] = []
  private readonly footer = new WatchFooter()
  private title = ''
  private known: MarketStatus | undefined
  private closes = ''

  constructor(name: string) {
    this.name = name
  }

  /** The last known status of the market. */
  get status(): string {
    return this.known ?? ''
  }

  /** True once the market has ended. */
  get isOver(): boolean {
    return this.known !== undefined && isLastStatus(this.known)
  }

  /** Applies a message; true when it is a row of a book. */
  apply(message: LiveMessage, now: number): boolean {
    this.footer.apply(message)
    switch (message.type) {
      case 'snapshot':
      case 'update': {
        const { outcome } = message.row
        let seen = this.books.get(message.key)
        if (seen === undefined) {
          seen = { book: new OrderBook(message.row.venue), outcome: undefined }
          this.books.set(message.key, seen)
        }
        if (typeof outcome === 'string') seen.outcome = outcome
        if (!seen.book.apply(message)) return false
        this.footer.countRow(now)
        return true
      }
      case 'trade': {
        const { price, size, taker_side, received_time, outcome } = message.row
        const side = (taker_side ?? '–').padEnd(4)
        const [much, at] = [decimalText(size), decimalText(price)]
        const time = shortTime(received_time).slice(11)
        const line = toPlain(`${time}  ${side}  ${groupDigits(much)} ${outcome ?? ''} at ${at}`)
        this.trades.unshift(line)
        this.trades.length = Math.min(this.trades.length, TRADES)
        return false
      }
      case 'market':
        this.title = message.row.title ?? ''
        this.known = message.row.status ?? undefined
        this.closes = shortTime(message.row.close_time)
        return false
      default:
        return false
    }
  }

  /** What is known of the market before the first message. */
  introduce(
    title: string | null,
    status: MarketStatus | null,
    closes: string | number | null,
  ): void {
    this.title = title ?? ''
    this.known = status ?? undefined
    this.closes = closes === null ? '' : shortTime(closes)
  }

  /** The whole picture, no longer and no wider than the terminal. */
  draw(
    { columns, rows }: { readonly columns: number; readonly rows: number },
    depth: number,
    paint: CommandIo['paint'],
    now: number,
  ): string[] {
    const closes = this.closes === '' ? '' : `closes ${this.closes} UTC`
    // The id of a market may be as wide as the terminal, so it comes last.
    const facts = [this.status, closes, this.title === '' ? '' : this.name]
    const head = [
      paint('bold', cut(this.title === '' ? this.name : this.title, columns)),
      paint('dim', fitParts(facts, columns)),
    ]
    const foot = ['', this.footer.draw(columns, paint, now)]
    const trades =
      this.trades.length === 0 ? [] : ['', ...this.trades.map((line) => cut(line, columns))]
    const room = rows - head.length - foot.length - trades.length
    // Each book has two lines over its ladder, and the head and the foot of the ladder itself.
    const share = Math.max(1, Math.floor(room / Math.max(1, this.books.size)) - 5)
    const body: string[] = []
    for (const seen of this.books.values()) {
      const { book, outcome } = seen
      const at =
        book.receivedTime === undefined ? '' : `received ${String(book.receivedTime).slice(11, 23)}`
      const state = book.isStale ? paint('yellow', 'stale: waiting for a whole book') : at
      const named = outcome === undefined ? '' : `${toPlain(outcome)}   `
      const style = { depth: Math.min(depth, share), width: columns, paint }
      body.push('', `${named}sequence ${book.sequence}   ${state}`, bookLine(book, columns))
      body.push(...layLadder(book, style))
    }
    if (body.length === 0) body.push('', paint('dim', 'waiting for the first book'))
    return [...head, ...body.slice(0, Math.max(0, room)), ...trades, ...foot]
  }

  /** One line about the newest row, where there is no terminal to draw on. */
  line(key: string): string {
    const seen = this.books.get(key)!
    const { book, outcome } = seen
    const named = outcome === undefined ? '' : ` ${toPlain(outcome)}`
    return `${String(book.receivedTime)}${named}  seq ${book.sequence}  ${bookLine(book)}`
  }
}
