import type { Proposition, UpstreamAnswer, UpstreamRequest } from '../../core/upstream.ts'
import { bad, error, good } from './answers.ts'
import { wholeOf } from './market-query.ts'
import type { Markets } from './markets.ts'

const DAY_MS = 86_400_000
/** The venue keeps about three months at hand. */
const KEPT_MS = 90 * DAY_MS
const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000
/** The filters of GET /historical/markets, of which one may be given. */
const FILTERS = ['tickers', 'event_ticker', 'series_ticker', 'mve_filter'] as const

/**
 * What the venue moved to its archive: markets that settled and trades that happened before a cutoff, which moves
 * on in steps. They are not in the other lists any more.
 */
export class Archive {
  private readonly markets: Markets
  private readonly keptMs: number
  private readonly stepMs: number

  constructor(markets: Markets, keptMs = KEPT_MS) {
    this.markets = markets
    this.keptMs = keptMs
    this.stepMs = Math.max(1, Math.min(DAY_MS, Math.floor(keptMs / 4)))
  }

  /** Before this time of the venue's clock everything is archived. */
  cutoff(): number {
    return Math.floor((this.markets.now() - this.keptMs) / this.stepMs) * this.stepMs
  }

  /** True for a market that settled before the cutoff. */
  readonly holds = (market: Proposition): boolean => {
    if (market.phase !== 'resolved') return false
    return (this.markets.times(market).get('resolved') ?? market.closeTime) < this.cutoff()
  }

  readonly isAtHand = (market: Proposition): boolean => !this.holds(market)

  answerCutoff(): UpstreamAnswer {
    const cutoff = new Date(this.cutoff()).toISOString()
    return good({
      market_settled_ts: cutoff,
      orders_updated_ts: cutoff,
      trades_created_ts: cutoff,
    })
  }

  /** A page of archived markets, newest first; the cursor names its last market. */
  select({
    query,
  }: UpstreamRequest): UpstreamAnswer | { rows: readonly Proposition[]; cursor: string } {
    const given = FILTERS.filter((name) => query.has(name))
    if (given.length > 1) {
      return error(400, 'bad_request', `filters are mutually exclusive: ${given.join(', ')}`)
    }
    const limit = wholeOf(query, 'limit') ?? DEFAULT_LIMIT
    if (!(limit > 0 && limit <= MAX_LIMIT)) return bad('limit')
    const after = query.get('cursor') ?? ''
    const last = after === '' ? Infinity : Number(Buffer.from(after, 'base64url').toString())
    if (Number.isNaN(last)) return bad('cursor')
    const filter = query.get('mve_filter')
    if (filter !== null && filter !== 'exclude') return bad('mve_filter')
    const found = this.candidates(query)
      .filter((market) => market.index < last && this.holds(market))
      .filter(({ topic }) => filter === null || topic?.kind !== 'combo')
      .toSorted((a, b) => b.index - a.index)
    const rows = found.slice(0, limit)
    const end = found.length > rows.length ? String(rows.at(-1)!.index) : ''
    return { rows, cursor: Buffer.from(end).toString('base64url') }
  }

  private candidates(query: URLSearchParams): readonly Proposition[] {
    const [tickers, event, series] = FILTERS.map((name) => query.get(name))
    if (typeof tickers === 'string') {
      return [...new Set(tickers.split(','))].flatMap((ticker) => this.markets.find(ticker) ?? [])
    }
    if (typeof event === 'string') return this.markets.ofEvent(event)
    return typeof series === 'string' ? this.markets.ofSeries(series) : this.markets.all()
  }
}
