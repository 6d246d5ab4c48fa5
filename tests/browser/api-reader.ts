import type { Page } from 'playwright-core'

/** A market as the list shows it. */
export type ListedMarket = {
  readonly venue: string
  readonly market_id: string
  readonly asset?: string
  readonly title: string | null
  readonly outcomes: readonly { readonly label: string; readonly token_id: string | null }[]
  readonly coverage: {
    readonly observations: number
    readonly first_time: string
    readonly last_time: string
  }
}

/** A market that has ended. */
export type EndedMarket = ClosingMarket & { readonly winning_outcome: string }

type ClosingMarket = ListedMarket & { readonly close_time: string }

/** Asks the interface beside the page: what the page shows must be what it answers. */
export class ApiReader {
  readonly url: string
  private readonly key: string | undefined

  constructor(url: string, key?: string) {
    this.url = url
    this.key = key
  }

  /** The data of an answer. */
  async get(path: string): Promise<unknown> {
    const address = this.key === undefined ? path.replace('/v3/', '/v3/demo/') : path
    const headers = this.key === undefined ? {} : { authorization: `Bearer ${this.key}` }
    const response = await fetch(this.url + address, { headers })
    if (!response.ok) throw new Error(`${address}: ${response.status} ${await response.text()}`)
    return ((await response.json()) as { data: unknown }).data
  }

  /** The market of a venue with the most books. */
  async busiest(venue: string, filters = '&status=open'): Promise<ListedMarket> {
    const path = `/v3/markets?venue=${venue}&limit=500&order=desc${filters}`
    const rows = (await this.get(path)) as ListedMarket[]
    return rows.toSorted((a, b) => b.coverage.observations - a.coverage.observations)[0]!
  }

  /** Waits until a venue has a market with at least this many books. */
  async untilRecorded(venue: string, books: number, filters?: string): Promise<ListedMarket> {
    for (;;) {
      const market = await this.busiest(venue, filters).catch(() => undefined)
      if (market !== undefined && market.coverage.observations >= books) return market
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }

  /** Waits until a venue has an open market with at least this many books that closes no sooner than in so long. */
  async untilLasting(venue: string, books: number, ms: number): Promise<ListedMarket> {
    for (;;) {
      const path = `/v3/markets?venue=${venue}&status=open&limit=500`
      const rows = (await this.get(path)) as ClosingMarket[]
      const found = rows.find(
        ({ coverage, close_time: closes }) =>
          coverage.observations >= books && Date.parse(closes) - Date.now() >= ms,
      )
      if (found !== undefined) return found
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }

  /** Waits until a venue has a resolved market with at least this many books. */
  async untilResolved(venue: string, books: number): Promise<EndedMarket> {
    for (;;) {
      const path = `/v3/markets?venue=${venue}&status=resolved&limit=500&order=desc`
      const rows = (await this.get(path)) as EndedMarket[]
      const found = rows.find(
        ({ coverage, winning_outcome: winner }) =>
          coverage.observations >= books && winner !== null,
      )
      if (found !== undefined) return found
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  }

  /** The book of an outcome at an instant; undefined where there is none. */
  async bookAt(market: ListedMarket, at: string, outcome: number): Promise<Book | undefined> {
    const path = `${marketPath(market)}/orderbook?number_format=string&at=${at}`
    const data = (await this.get(path)) as Row | Row[] | null
    return toBook(market, data === null ? [] : [data].flat(), outcome)
  }

  /** The book of an outcome in the row with a received time and a sequence. */
  async bookOfRow(
    market: ListedMarket,
    received: string,
    sequence: string,
    outcome: number,
  ): Promise<Book | undefined> {
    const range = `start_time=${received}&limit=1000&include_orderbook=true&number_format=string`
    const rows = (await this.get(`${marketPath(market)}/snapshots?${range}`)) as Row[]
    const own = rows.filter((row) => String(row.sequence) === sequence)
    return toBook(market, own, outcome)
  }
}

type Book = { readonly asks: string[][]; readonly bids: string[][] }
type Side = { readonly price: string[]; readonly size: string[] }
type Row = {
  readonly sequence: number
  readonly token_id: string | null
  readonly bids: Side
  readonly asks: Side
}

// The other outcome of a venue with one book is its complement.
function toBook(market: ListedMarket, rows: readonly Row[], outcome: number): Book | undefined {
  const isOwn = market.venue === 'venuec'
  const token = market.outcomes[outcome]?.token_id
  const row = isOwn ? rows.find((one) => one.token_id === token) : rows[0]
  if (row === undefined) return undefined
  const pairs = ({ price, size }: Side, isTurned: boolean): string[][] =>
    price.map((text, index) => [isTurned ? complement(text) : text, size[index]!])
  const isTurned = !isOwn && outcome === 1
  return isTurned
    ? { asks: pairs(row.bids, true), bids: pairs(row.asks, true) }
    : { asks: pairs(row.asks, false), bids: pairs(row.bids, false) }
}

/** The path of a market in the interface. */
function marketPath({ venue, market_id: id, asset }: ListedMarket): string {
  switch (venue) {
    case 'venuea':
      return `/v3/venuea-prediction/${id}`
    case 'venueb':
      return `/v3/venueb/${id}`
    default:
      return `/v3/${(asset ?? 'btc').toLowerCase()}/markets/${id}`
  }
}

/** The address of a market in the explorer. */
export function placeOf({ venue, market_id: id }: ListedMarket): string {
  return `/market/${venue}/${encodeURIComponent(id)}`
}

/** The labels of both outcomes on the page. */
export async function labelsOn(page: Page): Promise<string[]> {
  const ladders = await page.locator('.ladder').all()
  return Promise.all(ladders.map(async (one) => (await one.getAttribute('data-outcome'))!))
}

// One minus a price of at most four decimals, in whole ticks.
function complement(price: string): string {
  const ticks = 10_000 - Math.round(Number(price) * 10_000)
  return String(ticks / 10_000)
}
