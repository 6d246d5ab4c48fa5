import { OrderBook, type BookLevel, type BookMessage, type LiveMessage } from '../client/index.ts'
import {
  cut,
  fitParts,
  layTable,
  printSpan,
  toPlain,
  type CommandIo,
} from '../command-line/index.ts'
import {
  isLastStatus,
  isMarketState,
  parseScaled,
  POW10,
  printScaled,
  VENUES,
  type MarketStatus,
  type VenueId,
} from '../domain/index.ts'
import type { ContractWithTermsJson, GapJson } from '../wire/index.ts'
import { groupDigits } from './ladder-view.ts'
import { WatchFooter } from './watch-footer.ts'

/** A market of the board. With `yes` only the book of that outcome is shown, in its prices. */
export type BoardMarket = {
  readonly venue: VenueId
  readonly market_id: string
  readonly status: MarketStatus | null
  readonly yes?: ContractWithTermsJson['members'][number]['yes']
}

type Member = {
  readonly market: BoardMarket
  status: MarketStatus | null
  /** By instrument key. */
  readonly lines: Map<string, Line>
}

type Line = {
  readonly key: string
  readonly book: OrderBook
  readonly isComplement: boolean
  outcome: string
  receivedMs: number
}

/** The state of several markets in `watch`, one line per book, updated by messages. */
export class WatchBoard {
  readonly name: string
  private readonly title: string
  private readonly facts: readonly string[]
  private readonly members = new Map<string, Member>()
  /** The reasons of open gaps, by venue and key. */
  private readonly gaps = new Map<string, string>()
  private readonly footer = new WatchFooter()
  /** The server's clock less that of this machine. */
  private skewMs = 0

  constructor(
    name: string,
    markets: readonly BoardMarket[],
    {
      title = name,
      facts = [],
    }: { readonly title?: string; readonly facts?: readonly string[] } = {},
  ) {
    this.name = name
    this.title = title
    this.facts = facts
    for (const market of markets) this.add(market)
  }

  /** The statuses of the markets. */
  get status(): string {
    return [...new Set([...this.members.values()].map(({ status }) => status ?? ''))].join(', ')
  }

  /** True once all markets have ended. */
  get isOver(): boolean {
    return this.members.values().every(({ status }) => status !== null && isLastStatus(status))
  }

  /** Applies a message; true when it is a row of a book that is shown. */
  apply(message: LiveMessage, now: number): boolean {
    this.footer.apply(message)
    switch (message.type) {
      case 'welcome':
        this.skewMs = millisOf(message.server_time) - now
        return false
      case 'contract':
        for (const member of message.row.members) this.add(member)
        return false
      case 'snapshot':
      case 'update':
        return this.applyRow(message, now)
      case 'market': {
        const { venue, market_id: id, status } = message.row
        const member = this.members.get(nameOf(venue, id))
        if (member !== undefined) member.status = status ?? null
        return false
      }
      case 'gap':
        this.applyGap(message.gap)
        return false
      default:
        return false
    }
  }

  /** The whole picture, no longer and no wider than the terminal. */
  draw(
    { columns, rows }: { readonly columns: number; readonly rows: number },
    _depth: number,
    paint: CommandIo['paint'],
    now: number,
  ): string[] {
    const cells = [...this.members.values()].flatMap((member) => this.cellsOf(member, now))
    const table = layTable(COLUMNS, cells, columns)
    const [head, ...lines] = table.map((line) => cut(line.trimEnd(), columns))
    const top = [
      paint('bold', cut(this.title, columns)),
      paint('dim', fitParts(this.facts, columns)),
      '',
      paint('dim', head!),
    ]
    const foot = ['', this.footer.draw(columns, paint, now)]
    return [...top, ...lines.slice(0, Math.max(0, rows - top.length - foot.length)), ...foot]
  }

  /** One line about the newest row of a book, where there is no terminal to draw on. */
  line(key: string): string {
    for (const { market, lines } of this.members.values()) {
      const line = lines.get(key)
      if (line === undefined) continue
      const { bid, ask } = bestOf(line)
      const side = (level: BookLevel | undefined): string =>
        level === undefined ? 'none' : `${level.price} × ${groupDigits(level.size)}`
      const { receivedTime, sequence } = line.book
      const named = toPlain(`${market.venue}:${market.market_id} ${line.outcome}`)
      return `${String(receivedTime)} ${named}  seq ${sequence}  bid ${side(bid)}  ask ${side(ask)}`
    }
    return ''
  }

  private add(market: BoardMarket): void {
    const name = nameOf(market.venue, market.market_id)
    if (this.members.has(name)) return
    this.members.set(name, { market, status: market.status, lines: new Map() })
  }

  private applyRow(message: BookMessage, now: number): boolean {
    const { row, key } = message
    const member = this.members.get(nameOf(row.venue, row.market_id))
    if (member === undefined) return false
    const { yes } = member.market
    const isPerToken = VENUES[row.venue].booksPer === 'token'
    if (yes !== undefined && isPerToken && row.token_id !== yes.token_id) return false
    let line = member.lines.get(key)
    if (line === undefined) {
      line = {
        key,
        book: new OrderBook(row.venue),
        isComplement: yes !== undefined && !isPerToken && yes.index !== 0,
        outcome: yes?.outcome ?? '',
        receivedMs: now,
      }
      member.lines.set(key, line)
    }
    if (yes === undefined && typeof row.outcome === 'string') line.outcome = row.outcome
    if (!line.book.apply(message)) return false
    line.receivedMs = millisOf(row.received_time)
    this.gaps.delete(gapName(row.venue, key))
    this.footer.countRow(now)
    return true
  }

  private applyGap({ venue, key, reason, end_time: end }: GapJson): void {
    const name = gapName(venue, key)
    if (end === null) this.gaps.set(name, isMarketState(reason) ? reason : `gap: ${reason}`)
    else this.gaps.delete(name)
  }

  private cellsOf({ market, status, lines }: Member, now: number): string[][] {
    const { venue, market_id: id } = market
    const trouble = (key: string): string | undefined =>
      this.gaps.get(gapName(venue, key)) ??
      this.gaps.get(gapName(venue, id)) ??
      this.gaps.get(gapName(venue, null))
    const ended = status !== null && isLastStatus(status) ? status : undefined
    if (lines.size === 0) {
      const state = ended ?? trouble(id) ?? 'no book yet'
      return [[venue, market.yes?.outcome ?? '', '–', '–', '–', '–', '–', state, id]]
    }
    return [...lines.values()].map((line) => {
      const { bid, ask } = bestOf(line)
      const stale = line.book.isStale ? 'waiting for a whole book' : undefined
      const state = ended ?? trouble(line.key) ?? stale ?? ''
      const age = printSpan(Math.max(0, now + this.skewMs - line.receivedMs))
      const size = (level: BookLevel | undefined): string => groupDigits(level?.size ?? '–')
      const prices = [size(bid), bid?.price ?? '–', ask?.price ?? '–', size(ask)]
      return [venue, line.outcome, ...prices, age, state, id]
    })
  }
}

const COLUMNS = [
  { head: 'VENUE' },
  { head: 'OUTCOME' },
  { head: 'SIZE', isNumber: true },
  { head: 'BID', isNumber: true },
  { head: 'ASK', isNumber: true },
  { head: 'SIZE', isNumber: true },
  { head: 'AGE', right: true },
  { head: 'STATE' },
  { head: 'MARKET', shrinks: true },
] as const

// Who buys one outcome takes the bids of the other.
function bestOf({ book, isComplement }: Line): OrderBook['best'] {
  const { bid, ask } = book.best
  if (!isComplement) return { bid, ask }
  const { priceDecimals } = VENUES[book.venue]
  const turned = (level: BookLevel | undefined): BookLevel | undefined =>
    level && {
      price: printScaled(
        POW10[priceDecimals]! - parseScaled(level.price, priceDecimals),
        priceDecimals,
      ),
      size: level.size,
    }
  return { bid: turned(ask), ask: turned(bid) }
}

function millisOf(time: string | number): number {
  return typeof time === 'number' ? time / 1000 : Date.parse(time)
}

function nameOf(venue: VenueId, marketId: string): string {
  return `${venue}:${marketId}`
}

function gapName(venue: VenueId, key: string | null): string {
  return `${venue} ${key ?? ''}`
}
